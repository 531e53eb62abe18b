import { rmSync } from 'node:fs';
import path from 'node:path';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { GateLimits } from '../contracts/gate/limits/index.ts';
import type { StatedProvenance } from '../contracts/provenance.ts';
import type { TargetDeclaration } from '../contracts/target/index.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import type { Queue } from '../queue/queue.ts';
import { readTargetFile } from '../run/suite/target-file.ts';
import { declaredUrl } from '../targets/calls.ts';
import { runsProgram } from '../targets/program-call.ts';
import { laidOutSuite } from './lay-out-suite.ts';

/** A suite that a client of a server orders. Its files are in one folder, under their own names. */
export interface RemoteSuite {
  readonly runId: string;
  readonly folder: string;
  readonly cases: string;
  readonly as: 'baseline' | 'new';
  readonly suite?: string | undefined;
  readonly baseUrl?: string | undefined;
  /** The name of a target file. */
  readonly target?: string | undefined;
  /** The name of a script that answers the cases in a sandbox. */
  readonly script?: string | undefined;
  readonly only?: readonly string[] | undefined;
  readonly concurrency?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly retries?: number | undefined;
  readonly limits?: GateLimits | undefined;
  readonly provenance?: StatedProvenance | undefined;
  readonly strictReplies?: boolean | undefined;
  /** Whether workers of the server's queue make the attempts. */
  readonly queue?: boolean | undefined;
  /** The share of the attempts that a second worker makes again. */
  readonly twice?: number | undefined;
  /** Headers whose values are variables of the server. */
  readonly headers?: readonly { readonly name: string; readonly env: string }[] | undefined;
}

/** What the operator of a server allows its clients. */
export interface RemoteRules {
  /** The variables that clients may name, and their values. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The only origins that suites may ask; empty if they may ask any. */
  readonly origins: readonly string[];
  /** The queue of the server; undefined if suites cannot use one. */
  readonly queue?: Queue | undefined;
  /** The store of the queue: a folder, or `s3://…`. */
  readonly store?: string | undefined;
}

/** Prepares the run folder of an ordered suite, and leaves it to another process. Throws a fault if it is refused. */
export async function layOutRemoteSuite(suite: RemoteSuite, rules: RemoteRules, cwd: string): Promise<RunFolder> {
  const { folder, runId, headers = [] } = suite;
  checkOneTarget(suite);
  const queue = suite.queue ? queueIn(rules) : undefined;
  if (queue && suite.script !== undefined && rules.store === undefined)
    throw new Fault(
      'no_store',
      'This server has no store, through which a script reaches the workers. Omit queue, or ask its operator for proctor serve --store.',
    );
  const named = (name: string | undefined) => (name === undefined ? undefined : path.join(folder, name));
  const { baseUrl } = suite;
  if (baseUrl !== undefined) checkUrl(baseUrl, rules);
  const target = named(suite.target);
  if (target !== undefined) checkDeclaration(readTargetFile(target).declaration, rules);
  const given = {
    suite: suite.suite,
    baseUrl,
    target,
    script: named(suite.script),
    only: suite.only,
    concurrency: suite.concurrency,
    timeoutMs: suite.timeoutMs,
    retries: suite.retries,
    limits: suite.limits,
    provenance: suite.provenance,
    strictReplies: suite.strictReplies,
    queue,
    store: queue && rules.store,
    twice: suite.twice,
  };
  const { places } = await laidOutSuite(
    {
      ...defined(given),
      cases: path.join(folder, suite.cases),
      as: suite.as,
      runId,
      cwd,
      environment: rules.secrets,
      headers: headers.map(({ name, env }) => ({ name, env, value: secretNamed(env, rules) })),
    },
    { casesPath: suite.cases, isReleased: true },
  );
  return places[0] as RunFolder;
}

/**
 * Refuses a new run if attempts of its name have begun, because workers did not make them for this order. Removes the
 * folder of a refused run.
 */
export async function refuseRunInQueue(place: RunFolder, rules: RemoteRules): Promise<void> {
  const { refuseKnownRun } = await import('./queued-suite.ts');
  try {
    await refuseKnownRun([place], queueIn(rules), {});
  } catch (error) {
    rmSync(place.folder, { recursive: true, force: true });
    if (!(error instanceof Fault) || error.code !== 'run_known') throw error;
    throw new Fault('run_known', `The queue already has attempts of a run called ${place.id}. Choose another name.`);
  }
}

function queueIn({ queue }: RemoteRules): Queue {
  if (queue !== undefined) return queue;
  throw new Fault('no_queue', 'This server has no queue. Omit queue, or ask its operator for proctor serve --queue.');
}

function checkOneTarget({ baseUrl, target, script }: RemoteSuite): void {
  const count = [baseUrl, target, script].filter(one => one !== undefined).length;
  if (count !== 1) throw new Fault('usage', 'Specify exactly one target: base_url, target or script.');
}

function secretNamed(name: string, { secrets }: RemoteRules): string {
  const value = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
  if (value !== undefined) return value;
  throw new Fault(
    'usage',
    `The server does not offer the variable ${printable(name)}. Its operator can offer it with proctor serve --secret ${printable(name)}.`,
  );
}

function checkUrl(text: string, rules: RemoteRules): void {
  if (text.includes('?'))
    throw new Fault(
      'usage',
      'The URL has a query. Proctor does not store query values, so the server could not resume the run. Use a target file.',
    );
  checkOrigin(text, rules);
}

/** An operator can limit what suites ask, because the server may reach addresses that its clients cannot. */
function checkOrigin(text: string, { origins }: RemoteRules): void {
  if (origins.length === 0) return;
  const url = URL.canParse(text) ? new URL(text.replace(/^ws/i, 'http')) : undefined;
  if (url && origins.includes(url.origin)) return;
  throw new Fault(
    'usage',
    'The operator of the server does not allow this target. Ask for proctor serve --allow-target ORIGIN.',
  );
}

/** A declaration must not start a program: it would run with the rights of the server. */
function checkDeclaration(declaration: TargetDeclaration, rules: RemoteRules): void {
  const starts = runsProgram(declaration)
    ? `kind: ${declaration.kind}`
    : declaration.start
      ? 'start'
      : declaration.version?.run
        ? 'version.run'
        : declaration.kind === 'mcp-tool' && declaration.run
          ? 'run'
          : undefined;
  if (starts !== undefined)
    throw new Fault('usage', `The target file has ${starts}, which starts a program on the server. Use an API.`);
  if (rules.origins.length === 0 || runsProgram(declaration)) return;
  const url = declaredUrl(declaration, {
    env: name => (Object.hasOwn(rules.secrets, name) ? rules.secrets[name] : undefined),
  });
  checkOrigin(url, rules);
}
