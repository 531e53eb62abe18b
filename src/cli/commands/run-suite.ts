import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { printableJson } from '../../base/printable.ts';
import type { AdoptOptions } from '../../verbs/adopt-suite.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import type { QueueOptions } from '../../verbs/queue-choice.ts';
import { resumeSuite } from '../../verbs/resume-suite.ts';
import { runSuite, type RunSuiteOptions } from '../../verbs/run-suite.ts';
import { suiteExitCode } from '../../verbs/suite-exit.ts';
import type { RunVersionsOptions } from '../../verbs/run-versions.ts';
import { type SuiteVersion, suiteVersions } from '../../verbs/suite-versions.ts';
import { gateOption } from '../text/gate-word.ts';
import { checkOf } from '../options/check-option.ts';
import { headerOf } from '../options/headers.ts';
import { interruptions } from '../options/interruptions.ts';
import { tracingHere } from '../options/tracing.ts';
import { type LimitFlags, limitsFromFlags } from '../options/limit-flags.ts';
import { mountOf } from '../options/mounts.ts';
import { stayLean } from '../options/v8-heap.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { ProgressLine, watchedColumns } from '../text/progress.ts';
import { exitOfStopped } from '../text/refusal.ts';
import { suiteRunJson, suiteRunText } from '../text/run-suite-text.ts';
import { namedKey, queueAddress, variables } from '../options/variables.ts';

export interface RunSuiteFlags extends LimitFlags {
  readonly gate?: string;
  readonly baseUrl?: string;
  readonly target?: string;
  readonly script?: string;
  readonly agent?: readonly string[];
  readonly policy?: string;
  readonly dir?: string;
  readonly model?: readonly string[];
  readonly maxTurns?: number;
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCost?: number;
  readonly prices?: string;
  readonly modelMode?: 'live' | 'record' | 'replay';
  readonly recordings?: string;
  readonly allowUntestedVersion?: true;
  readonly base?: string;
  readonly mount?: readonly string[];
  readonly check?: readonly string[];
  readonly checks?: string;
  readonly as?: 'baseline' | 'new';
  readonly out?: string;
  readonly runId?: string;
  readonly only?: readonly string[];
  readonly shard?: { readonly index: number; readonly total: number };
  readonly concurrency?: number;
  readonly timeout?: number;
  readonly idleTimeout?: number;
  readonly retries?: number;
  readonly repeat?: number;
  readonly resume?: string;
  readonly on?: string;
  readonly tokenFile?: string;
  readonly header?: readonly string[];
  readonly secret?: readonly string[];
  readonly strictReplies?: true;
  readonly followRedirects?: true;
  readonly keepCredentials?: true;
  readonly provenance?: readonly string[];
  readonly maxBody?: number;
  readonly profile?: string;
  readonly sandbox?: 'none' | 'process';
  readonly isolation?: 'strict' | 'standard' | 'none';
  readonly memory?: number;
  readonly cpus?: number;
  readonly queue?: string | true;
  readonly store?: string;
  readonly lost?: 'again' | 'never';
  readonly priority?: number;
  readonly targetSlots?: number;
  readonly heartbeat?: number;
  readonly workerKey?: readonly string[];
  readonly twice?: number;
  readonly json?: true;
}

export async function runSuiteCommand(cases: string | undefined, flags: RunSuiteFlags): Promise<number> {
  if (flags.on !== undefined) {
    const { runSuiteOnCommand } = await import('./run-suite-on.ts');
    return runSuiteOnCommand(cases, flags);
  }
  stayLean();
  const paint = paintFor(2);
  const interrupt = interruptions();
  const progress = new ProgressLine(stderr.write, watchedColumns(process.stderr, process.env));
  const tracing = await tracingHere(() => progress.end());
  try {
    const watched = {
      ...namedKey(),
      environment: process.env,
      signal: interrupt.signal,
      onProgress: progress.show,
      ...defined({ onVerdict: progress.onVerdict, tracer: tracing?.tracer }),
      onFolder: ({ id }: { readonly id: string }) => progress.begin(id),
      onWarning: (sentence: string) => {
        progress.end();
        stderr.write(`${paint('note', 'warning')}: ${sentence}\n`);
      },
    };
    const versions = versionsIn(flags);
    if (versions.length > 1) {
      const { runVersionsCommand } = await import('./run-versions.ts');
      const around = { json: flags.json === true, interrupt, endProgress: () => progress.end() };
      return await runVersionsCommand({ ...versionOptionsOf(cases, flags), versions, ...watched }, around);
    }
    const result =
      flags.resume === undefined
        ? await runSuite({ ...optionsOf(cases, flags), ...watched })
        : await resumeSuite(flags.resume, {
            ...namedAgain(cases, flags),
            ...queueOf(flags, true),
            ...watched,
            variable: name => process.env[name],
          });
    progress.end();
    if (flags.json) stdout.write(`${printableJson(suiteRunJson(result, interrupt.name()))}\n`);
    else stderr.write(suiteRunText(result, paint));
    return interrupt.exit() ?? suiteExitCode(result);
  } catch (error) {
    progress.end();
    return exitOfStopped(error, interrupt.exit(), flags.json === true);
  } finally {
    await closeLauncher();
    await tracing?.end();
    interrupt.end();
  }
}

/** The target and variables for a run from another machine. Rejects flags that do not apply to a resumed run. */
function namedAgain(cases: string | undefined, flags: RunSuiteFlags): AdoptOptions {
  const other = Object.keys(flags).find(key => !NAMED_AGAIN.has(key));
  if (cases !== undefined || other !== undefined) {
    throw new Fault(
      'usage',
      'A resumed run keeps its settings. With --resume, specify no cases and no flags except --json, and --base-url if the URL of the run has a query. For a run that another machine started, specify the target and variables again.',
    );
  }
  return targetOf(flags);
}

const NAMED_AGAIN: ReadonlySet<string> = new Set([
  'resume',
  'json',
  'baseUrl',
  'target',
  'script',
  'agent',
  'policy',
  'dir',
  'model',
  'maxTurns',
  'maxRequests',
  'maxTokens',
  'maxCost',
  'prices',
  'modelMode',
  'recordings',
  'allowUntestedVersion',
  'base',
  'mount',
  'check',
  'checks',
  'header',
  'secret',
  'strictReplies',
  'followRedirects',
  'profile',
  'sandbox',
  'isolation',
  'memory',
  'queue',
  'store',
  'lost',
  'priority',
  'targetSlots',
  'heartbeat',
  'workerKey',
]);

function targetOf(flags: RunSuiteFlags): AdoptOptions {
  const bounds = {
    profile: flags.profile,
    sandbox: flags.sandbox,
    isolation: flags.isolation,
    memoryBytes: flags.memory,
    cpus: flags.cpus,
  };
  const given = {
    baseUrl: flags.baseUrl,
    target: flags.target,
    script: flags.script,
    ...oneVersion(flags),
    policy: flags.policy,
    dir: flags.dir,
    maxTurns: flags.maxTurns,
    maxRequests: flags.maxRequests,
    maxTokens: flags.maxTokens,
    maxCostUsd: flags.maxCost,
    prices: flags.prices,
    modelMode: flags.modelMode,
    recordings: flags.recordings,
    allowUntestedVersion: flags.allowUntestedVersion,
    base: flags.base,
    mounts: flags.mount?.map(mountOf),
    checks: flags.check?.map(checkOf),
    checksFile: flags.checks,
    strictReplies: flags.strictReplies,
    redirects: flags.followRedirects,
    bounds: defined(bounds),
  };
  return {
    ...defined(given),
    headers: (flags.header ?? []).map(headerOf),
    secrets: variables(flags.secret ?? [], false),
  };
}

/** The agents and models that the flags combine; empty without an agent. */
function versionsIn({ agent = [], model = [], resume }: RunSuiteFlags): readonly SuiteVersion[] {
  if (agent.length === 0 && model.length > 1)
    throw new Fault('usage', 'Several models need an agent. Specify --agent claude or --agent codex.');
  const versions = agent.length === 0 ? [] : suiteVersions(agent, model);
  if (versions.length > 1 && resume !== undefined)
    throw new Fault('usage', 'A resumed run has one agent and one model. Omit the others.');
  return versions;
}

function oneVersion(flags: RunSuiteFlags): Partial<SuiteVersion> {
  const [version = defined({ model: flags.model?.[0] })] = versionsIn(flags);
  return version;
}

/** The options that all versions share. Each version is a candidate with a generated name. */
function versionOptionsOf(cases: string | undefined, flags: RunSuiteFlags): Omit<RunVersionsOptions, 'versions'> {
  const { agent: _, model: __, gate, ...shared } = flags;
  if (flags.as === 'baseline')
    throw new Fault('usage', 'Several agents or models run as candidates. Use --as new, or omit --as.');
  if (flags.shard !== undefined)
    throw new Fault('usage', '--shard runs a part of one version. Run each agent and model in a command of its own.');
  if (flags.runId !== undefined)
    throw new Fault('usage', '--run-id names one run. With several agents or models, omit it.');
  const { as: ___, ...options } = optionsOf(cases, { ...shared, as: 'new' });
  return { ...options, ...gateOption(gate) };
}

function optionsOf(cases: string | undefined, flags: RunSuiteFlags): RunSuiteOptions {
  if (cases === undefined) throw new Fault('usage', 'Specify a case file: proctor run suite cases.yaml …');
  if (flags.as === undefined)
    throw new Fault('usage', 'Specify the side of the comparison: --as baseline or --as new.');
  const given = {
    out: flags.out,
    runId: flags.runId,
    only: flags.only?.flatMap(words => words.split(',')).map(word => word.trim()),
    shard: flags.shard,
    concurrency: flags.concurrency,
    timeoutMs: flags.timeout,
    idleMs: flags.idleTimeout,
    retries: flags.retries,
    repeat: flags.repeat,
    twice: flags.twice,
    gate: flags.gate,
    limits: limitsFromFlags(flags),
    bodyBytesMax: flags.maxBody,
    keepCredentials: flags.keepCredentials,
    provenance: flags.provenance && Object.fromEntries(flags.provenance.map(pairIn)),
  };
  return { ...targetOf(flags), ...queueOf(flags, false), ...defined(given), cases, as: flags.as };
}

/** A resumed run knows whether it needs a queue, so it takes the one in the environment. */
function queueOf(flags: RunSuiteFlags, isResumed: boolean): QueueOptions {
  const { queue, store, lost, priority, targetSlots, heartbeat: heartbeatMs, workerKey: workerKeys } = flags;
  const named = queue === undefined ? undefined : queueAddress(queue === true ? undefined : queue);
  const address = named ?? (isResumed ? process.env['PROCTOR_QUEUE'] : undefined);
  return defined({ queue: address, store, lost, priority, targetSlots, heartbeatMs, workerKeys });
}

/** `model=NAME`. The value may contain more equals signs. */
function pairIn(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
