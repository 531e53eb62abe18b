import { statSync } from 'node:fs';
import path from 'node:path';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import { bytesHash } from '../base/hash.ts';
import { followLink, readRegular } from '../base/regular.ts';
import { headerSecrets, storedUrl, urlSecrets } from '../base/secret-parts.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import { attemptsIn } from '../evidence/run-folder/runs.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import { effectiveLimits, type Requested } from '../policy/effective-limits.ts';
import { checkOrder } from '../run/script/order.ts';
import { offersOf } from '../run/pipeline/runner-plan.ts';
import { AGENT_ASKED, askedIn } from '../run/suite/agent-asked.ts';
import type { CaseSetups } from '../run/suite/agent-work.ts';
import type { SuiteOrder } from '../run/suite/plan.ts';
import type { DeclaredTarget } from '../run/suite/target-file.ts';
import { settingsFrom, type SuiteSettings } from '../run/suite/settings.ts';
import type { Target } from '../run/suite/target.ts';
import { runsProgram } from '../targets/program-call.ts';
import { replyReader } from '../targets/reader.ts';
import { sharedLauncher } from './launcher.ts';
import { profileOf } from './profile.ts';
import type { StartedSuiteRun, RunSuiteOptions } from './run-suite.ts';
import { checkedUrl, checkHeader } from './suite-words.ts';

/** The target in a run's plan. */
export async function targetFor(plan: SuitePlan, going: StartedSuiteRun, folder: string): Promise<Target> {
  const { request, agent } = plan;
  const settings = settingsFrom(request.settings);
  if (request.queued) {
    const { queuedFor } = await import('./queued-suite.ts');
    return queuedFor(plan, going, folder);
  }
  if (request.target.kind === 'http') return httpFor(request.target, plan, going, settings);
  if (request.target.kind === 'declared') {
    const { declaredFor } = await import('./declared.ts');
    return declaredFor(request.target, plan, going, settings);
  }
  if (!agent) return scriptFor(plan, going, settings);
  const { agentFor } = await import('./suite-agents.ts');
  return agentFor(plan, agent, going, settings, folder);
}

/** The target of a run that asks an API in Proctor's own protocol. */
export async function httpFor(
  target: Extract<SuiteTarget, { kind: 'http' }>,
  { request }: { readonly request: Pick<SuitePlan['request'], 'version' | 'run_id' | 'keep_credentials'> },
  { baseUrl, headers = [], secrets = {} }: Pick<StartedSuiteRun, 'baseUrl' | 'headers' | 'secrets'>,
  settings: SuiteSettings,
): Promise<Target> {
  const url = addressOf(target.url, baseUrl);
  const { protocolTarget } = await import('../run/suite/protocol-target.ts');
  for (const header of headers) checkHeader(header);
  return protocolTarget({
    url,
    side: request.version,
    runId: request.run_id,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    secrets: secretsFor(url, headers, secrets),
    keepCredentials: request.keep_credentials === true,
    redirects: target.redirects,
    read: replyReader(target, settings.bodyBytesMax),
    settings,
  });
}

/** All values to mask: headers and their parts, query values, and declared secrets. */
export function secretsFor(
  url: string,
  headers: readonly { readonly name: string; readonly value: string }[],
  secrets: Readonly<Record<string, string>>,
): string[] {
  return [
    ...headers.flatMap(({ name, value }) => headerSecrets(name, value)),
    ...urlSecrets(url),
    ...Object.values(secrets),
  ];
}

/** The URL with its query values. They are not stored, so the user must specify the URL again to resume. */
export function addressOf(stored: string, given: string | undefined): string {
  const isWhole = !stored.includes('?');
  if (given === undefined && isWhole) return stored;
  if (given === undefined)
    throw new Fault(
      'usage',
      'Proctor does not store the query values of the URL. Specify the URL again with --base-url URL.',
    );
  const url = checkedUrl(given);
  if (storedUrl(url) !== stored)
    throw new Fault('usage', 'The run used another URL. Specify the same one with --base-url URL.');
  return url;
}

async function scriptFor(
  { request, script, bounds }: SuitePlan,
  { secrets = {}, home, signer }: StartedSuiteRun,
  settings: SuiteSettings,
): Promise<Target> {
  const { run_id: runId, version: side, target } = request;
  const keepCredentials = request.keep_credentials === true;
  const { scriptTarget } = await import('../run/suite/script-target.ts');
  const sha256 = script === null ? undefined : hashOf(script);
  if (script === null || target.kind !== 'script' || sha256 !== target.sha256) {
    throw new Fault('script_changed', 'The script changed since the run started. Restore it, or start a new run.');
  }
  const kept = attemptsIn(home);
  return scriptTarget({
    script,
    side,
    runId,
    launcher: sharedLauncher,
    home: kept,
    signer,
    bounds,
    secrets,
    keepCredentials,
    settings,
  });
}

function hashOf(script: string): string | undefined {
  const bytes = readRegular(followLink(script), SCRIPT_BYTES_MAX);
  return bytes && bytesHash(bytes);
}

const SCRIPT_BYTES_MAX = 64 * 1024 * 1024;

export type Whom = Pick<SuiteOrder, 'target' | 'script' | 'agent' | 'declared' | 'bounds' | 'effective'>;

/** Checks and describes the target in the options, before anything is written. */
export async function describeTarget(
  options: RunSuiteOptions & { readonly declared?: DeclaredTarget },
  settings: SuiteSettings,
  home: string,
  cwd: string,
  setups?: CaseSetups['setups'],
): Promise<Whom> {
  const { baseUrl, target, script, agent, policy, dir, bounds } = options;
  if ([baseUrl, target, script, agent].filter(one => one !== undefined).length > 1)
    throw new Fault('usage', 'Specify only one target: --base-url, --target, --script or --agent.');
  if (agent === undefined && (policy !== undefined || dir !== undefined))
    throw new Fault('usage', '--policy and --dir require an agent. Add --agent claude or --agent codex.');
  if (agent === undefined && options.checksFile !== undefined)
    throw new Fault('usage', '--checks requires an agent. Add --agent claude or --agent codex.');
  const [ofAgents] = Object.keys(askedIn(options)) as (keyof typeof AGENT_ASKED)[];
  if (agent === undefined && ofAgents !== undefined)
    throw new Fault('usage', `${AGENT_ASKED[ofAgents]} requires an agent. Add --agent claude or --agent codex.`);
  if (script !== undefined) return scriptNamed(options, settings, cwd);
  const { cpus: _, ...ofScripts } = bounds ?? {};
  const isProgram = options.declared !== undefined && runsProgram(options.declared.declaration);
  if (agent === undefined && !isProgram) refuseBounds(bounds ?? {});
  if (options.declared) return declaredNamed(options, options.declared, settings);
  if (agent === undefined) return httpNamed(options);
  if (Object.keys(ofScripts).length > 0)
    throw new Fault('usage', 'Limits for scripts do not apply to an agent. Set them in its policy.');
  const { describeAgent } = await import('./suite-agents.ts');
  return describeAgent({ ...options, agent }, settings, home, cwd, setups);
}

/** Proctor does not run an API, so a limit on it would have no effect. */
function refuseBounds(bounds: NonNullable<RunSuiteOptions['bounds']>): void {
  const flags = Object.keys(defined(bounds)).map(key => BOUND_FLAGS[key] ?? key);
  if (flags.length > 0)
    throw new Fault(
      'not_enforceable',
      `Proctor cannot enforce ${flags.join(', ')} on an API. Omit ${flags.length === 1 ? 'it' : 'them'}.`,
    );
}

const BOUND_FLAGS: Readonly<Record<string, string>> = {
  profile: '--profile',
  sandbox: '--sandbox',
  isolation: '--isolation',
  memoryBytes: '--memory',
  cpus: '--cpus',
};

function httpNamed({ baseUrl, headers = [], secrets = {}, redirects = false, strictReplies }: RunSuiteOptions): Whom {
  for (const header of headers) checkHeader(header);
  if (baseUrl === undefined)
    throw new Fault(
      'usage',
      'Specify a target: an API (--base-url, baseUrl), a target file (--target, target), an agent (--agent, agent) or a script (--script, script).',
    );
  const target: SuiteTarget = {
    kind: 'http',
    url: storedUrl(checkedUrl(baseUrl, [...headers.map(({ value }) => value), ...Object.values(secrets)])),
    header_names: headers.map(({ name }) => name).sort(),
    redirects,
    replies: strictReplies ? 'strict' : 'lenient',
  };
  return { target, script: null, bounds: {}, effective: undefined };
}

async function declaredNamed(
  options: RunSuiteOptions,
  declared: DeclaredTarget,
  settings: SuiteSettings,
): Promise<Whom> {
  const { headers = [], redirects, strictReplies } = options;
  if (headers.length > 0 || redirects)
    throw new Fault('usage', 'A target file declares its own headers and follows no redirects. Omit these flags.');
  const { name, declaration, dir, version } = declared;
  const place = { dir, ...(version !== undefined && { version }) };
  const replies = strictReplies ? 'strict' : (declaration.replies ?? 'lenient');
  const target = { kind: 'declared', name, replies, declaration } as const;
  if (!runsProgram(declaration)) return { target, declared: place, script: null, bounds: {}, effective: undefined };
  const { programBounds } = await import('./declared-program.ts');
  const { bounds, effective, isolated } = await programBounds(declaration, declared, options, settings);
  return { target: { ...target, ...isolated }, declared: place, script: null, bounds, effective };
}

async function scriptNamed(options: RunSuiteOptions, settings: SuiteSettings, cwd: string): Promise<Whom> {
  const script = path.resolve(cwd, options.script as string);
  const { profile, ...asked } = options.bounds ?? {};
  const bounds: Requested = {
    ...asked,
    ...(profile !== undefined && { profile: profileOf(profile) }),
    timeoutMs: settings.timeoutMs,
  };
  checkOrder({ script, bounds, secrets: options.secrets ?? {} });
  const effective = effectiveLimits(bounds, offersOf(await (await sharedLauncher()).machine()));
  const sha256 = hashOf(script);
  if (sha256 === undefined) throw new Fault('usage', 'The script is not a regular file of at most 64 MiB.');
  const target: SuiteTarget = {
    kind: 'script',
    name: path.basename(script),
    sha256,
    bytes: statSync(script).size,
    sandbox: effective.sandbox,
    isolation: effective.isolation,
  };
  return { target, script, bounds, effective };
}
