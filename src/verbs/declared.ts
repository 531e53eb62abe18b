import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { withParts } from '../base/secret-parts.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import type { TargetDeclaration } from '../contracts/target/index.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import type { HttpApi } from '../run/suite/http-target.ts';
import type { ProgramAgent } from '../run/suite/program-target.ts';
import type { SuiteSettings } from '../run/suite/settings.ts';
import type { Target } from '../run/suite/target.ts';
import type { DeclaredTarget } from '../run/suite/target-file.ts';
import { compileCalls } from '../targets/calls.ts';
import { compileConversation } from '../targets/conversation.ts';
import { isApi, replyFormOf } from '../targets/kinds/kinds.ts';
import { runsProgram } from '../targets/program-call.ts';
import { replyReader } from '../targets/reader.ts';
import { namedTarget, settingsOf } from './named-target.ts';
import type { RunSuiteOptions, StartedSuiteRun } from './run-suite.ts';

/** Options with the target file read, and the environment variables that it names among the secrets. */
export interface WithDeclared extends RunSuiteOptions {
  readonly declared?: DeclaredTarget;
  /** Settings of the declaration. A flag overrides each. */
  readonly ofTarget?: Partial<SuiteSettings>;
}

export async function withDeclared(options: WithDeclared, cwd: string): Promise<WithDeclared> {
  if (options.target === undefined || options.declared) return options;
  const { target, ...others } = options;
  const named = namedTarget(target, cwd, options.project);
  if ('ran' in named)
    return {
      ...named.ran,
      ...others,
      ...joined(named.ran, others),
      ofTarget: named.settings,
      bounds: { ...named.ran.bounds, ...options.bounds },
    };
  const { declared } = named;
  const { declaration } = declared;
  const values = variablesIn(declaration).map(name => {
    const value = options.secrets?.[name] ?? options.environment?.[name];
    if (value === undefined || value === '') {
      const state = value === undefined ? 'not set' : 'set, but empty';
      throw new Fault(
        'usage',
        `The target file uses the environment variable ${printable(name)}, which is ${state}. Set it to a value.`,
      );
    }
    return [name, value] as const;
  });
  const { declaredVersion } = await import('./declared-version.ts');
  const version = await declaredVersion(declared, {
    ...options,
    secrets: { ...options.secrets, ...Object.fromEntries(values) },
  });
  const provenance = { ...declaration.provenance, ...(version !== undefined && { agent_version: version }) };
  return {
    ...options,
    declared: { ...declared, ...(version !== undefined && { version }) },
    ofTarget: settingsOf(declaration),
    secrets: { ...options.secrets, ...Object.fromEntries(values) },
    ...(Object.keys(provenance).length > 0 && { provenance: { ...provenance, ...options.provenance } }),
  };
}

/** A flag adds to the checks and mounts of the target, because dropping a hidden test would go unnoticed. */
function joined(ran: Partial<RunSuiteOptions>, given: WithDeclared): Pick<RunSuiteOptions, 'checks' | 'mounts'> {
  const checks = [...(ran.checks ?? []), ...(given.checks ?? [])];
  const mounts = [...(ran.mounts ?? []), ...(given.mounts ?? [])];
  return { ...(checks.length > 0 && { checks }), ...(mounts.length > 0 && { mounts }) };
}

/** Asks which agent answers now, and refuses to continue a run with another one. */
export async function checkSameVersion(
  { request: { target }, declared }: Pick<SuitePlan, 'request' | 'declared'>,
  context: Pick<RunSuiteOptions, 'environment' | 'secrets' | 'signal' | 'onWarning'>,
): Promise<void> {
  const { version: was, dir = '.' } = declared ?? {};
  if (target.kind !== 'declared' || was === undefined) return;
  const { declaredVersion } = await import('./declared-version.ts');
  refuseOther(was, await declaredVersion({ declaration: target.declaration, dir }, context));
}

export function refuseOther(was: string, now: string | undefined): void {
  if (now === was) return;
  const is = now === undefined ? 'its version is unknown now' : `it is version ${printable(now)} now`;
  throw new Fault(
    'agent_changed',
    `The run started with version ${printable(was)} of the target, and ${is}. Restore it, or start a new run.`,
  );
}

/** The limits of a program that is asked once; none for other kinds. */
export async function boundsOf(
  declared: DeclaredTarget,
  environment: NonNullable<RunSuiteOptions['environment']>,
  settings: SuiteSettings,
): Promise<object> {
  const { declaration } = declared;
  if (!runsProgram(declaration)) return {};
  const { programBounds } = await import('./declared-program.ts');
  return (await programBounds(declaration, declared, { environment }, settings)).bounds;
}

/** The names in `${env:NAME}`, wherever they occur. */
function variablesIn(declaration: TargetDeclaration): string[] {
  const names = JSON.stringify(declaration).matchAll(/(?<!\$)\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g);
  return [...new Set([...names].map(([, name]) => name as string))];
}

type Declared = Extract<SuiteTarget, { kind: 'declared' }>;

interface DeclaredRun {
  readonly request: Pick<SuitePlan['request'], 'version' | 'run_id' | 'keep_credentials'>;
  readonly declared?: SuitePlan['declared'];
  /** The limits of a program. */
  readonly bounds?: SuitePlan['bounds'];
}

type DeclaredContext = Pick<StartedSuiteRun, 'secrets' | 'environment' | 'signal' | 'onWarning'> &
  Partial<Pick<StartedSuiteRun, 'home'>> &
  Pick<HttpApi, 'onExchange'> &
  Pick<ProgramAgent, 'onProgram'>;

/** The target of a run with a declaration. Starts the agent if the declaration says how. */
export async function declaredFor(
  target: Declared,
  run: DeclaredRun,
  context: DeclaredContext,
  settings: SuiteSettings,
): Promise<Target> {
  const { start } = target.declaration;
  if (!start) return askedTarget(target, run, context, settings, undefined);
  const { startDeclared } = await import('./declared-start.ts');
  return startDeclared(target, start, { dir: run.declared?.dir ?? '.', ...context }, port =>
    askedTarget(target, run, context, settings, port),
  );
}

async function askedTarget(
  target: Declared,
  { request, declared, bounds = {} }: DeclaredRun,
  { secrets = {}, environment = {}, signal, home, onExchange, onProgram }: DeclaredContext,
  settings: SuiteSettings,
  port: number | undefined,
): Promise<Target> {
  const { declaration } = target;
  const common = {
    kind: declaration.kind,
    side: request.version,
    runId: request.run_id,
    read: replyReader(target, settings.bodyBytesMax),
    joins: replyFormOf(declaration) !== undefined,
    secrets: withParts(Object.values(secrets)),
    keepCredentials: request.keep_credentials === true,
    settings,
    variable: (name: string): string | undefined => (Object.hasOwn(secrets, name) ? secrets[name] : undefined),
    ...(port !== undefined && { port }),
    ...(onExchange && { onExchange }),
  };
  if (isApi(declaration)) {
    const { declaredTarget } = await import('../run/suite/declared-target.ts');
    const form = replyFormOf(declaration);
    const stream = form?.as === 'sse' || form?.as === 'ndjson' ? form.as : undefined;
    return declaredTarget({ ...common, calls: compileCalls(declaration), stream });
  }
  if (runsProgram(declaration)) {
    const { programTargetFor } = await import('./declared-program.ts');
    const place = { dir: declared?.dir ?? '.', bounds, home };
    return programTargetFor(target, declaration, place, { ...common, environment, ...(onProgram && { onProgram }) });
  }
  if (declaration.kind === 'websocket') {
    const { websocketTarget } = await import('../run/suite/websocket-target.ts');
    return websocketTarget({ ...common, calls: compileConversation(declaration) });
  }
  const { mcpFor } = await import('./declared-mcp.ts');
  return mcpFor(declaration, common, { dir: declared?.dir ?? '.', environment, ...(signal && { signal }) });
}
