import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ProctorClient } from '../../client/client.ts';
import type { SuiteToStart } from '../../client/answers.ts';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { readRegular } from '../../base/regular.ts';
import { fetchedSuite } from '../../verbs/fetched-suite.ts';
import { suiteExitCode } from '../../verbs/suite-exit.ts';
import { limitsFromFlags } from '../options/limit-flags.ts';
import { interruptions } from '../options/interruptions.ts';
import { serverToken } from '../options/server-token.ts';
import { namedKey } from '../options/variables.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { ProgressLine, watchedColumns } from '../text/progress.ts';
import { suiteRunJson, suiteRunText } from '../text/run-suite-text.ts';
import type { RunSuiteFlags } from './run-suite.ts';

/** Runs a suite on a server, watches it, and fetches and verifies its pack. */
export async function runSuiteOnCommand(cases: string | undefined, flags: RunSuiteFlags): Promise<number> {
  const order = orderOf(cases, flags);
  const client = new ProctorClient(flags.on ?? '', { token: serverToken(flags.tokenFile) });
  const interrupt = interruptions();
  const progress = new ProgressLine(stderr.write, watchedColumns(process.stderr, process.env));
  try {
    const { run_id: id } = await ordered(client, order);
    progress.begin(id);
    const stopped = await untilOver(client, id, progress, interrupt.signal);
    progress.end();
    if (stopped !== undefined) {
      stderr.write(`${stopped}\n`);
      return interrupt.exit() ?? 1;
    }
    const result = await fetchedSuite(await packOf(client, id, interrupt.signal), {
      id,
      as: order.as,
      cwd: process.cwd(),
      ...namedKey(),
    });
    if (flags.json) stdout.write(`${printableJson(suiteRunJson(result, undefined))}\n`);
    else stderr.write(suiteRunText(result, paintFor(2)));
    return suiteExitCode(result);
  } finally {
    progress.end();
    interrupt.end();
  }
}

/** Orders the suite. The key makes it safe to ask again after a lost connection. */
async function ordered(client: ProctorClient, order: SuiteToStart) {
  const key = newCorrelationId();
  for (let tries = 1; ; tries++) {
    try {
      return await client.startSuite(order, key);
    } catch (error) {
      if (!isUnreachable(error) || tries === TRIES_MAX) throw error;
      await wait(LOOK_MS);
    }
  }
}

/** Shows the progress until the run is over. Returns a sentence if it does not finish. */
async function untilOver(
  client: ProctorClient,
  id: string,
  progress: ProgressLine,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let failures = 0; ; ) {
    if (signal.aborted) return cancelled(client, id);
    try {
      const { state, progress: counts } = await client.run(id);
      failures = 0;
      if (state === 'finished') return undefined;
      if (state === 'running' && counts) progress.show({ ...counts, failed: null });
      if (state !== 'waiting' && state !== 'running')
        return `The run ${printable(id)} was interrupted on the server. Resume it there.`;
    } catch (error) {
      if (!isUnreachable(error) || ++failures > FAILURES_MAX) throw error;
    }
    await wait(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Waits for its turn if the server makes as many packs for others as it can. */
async function packOf(client: ProctorClient, id: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  for (let tries = 1; ; tries++) {
    try {
      return await client.pack(id);
    } catch (error) {
      const isBusy = error instanceof Fault && error.code === 'too_many_packs';
      if (!isBusy || signal.aborted || tries === PACK_TRIES_MAX) throw error;
      await wait(PACK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** The first Ctrl-C cancels the run. A second one leaves it to the server. */
async function cancelled(client: ProctorClient, id: string): Promise<string> {
  const left = new Promise<'left'>(resolve => {
    process.once('SIGINT', () => resolve('left'));
  });
  const became = await Promise.race([client.cancel(id), left]);
  if (became === 'left') return `The run ${printable(id)} may still be running on the server.`;
  return `The run ${printable(id)} is cancelled. The server can resume it.`;
}

function isUnreachable(error: unknown): boolean {
  return error instanceof Fault && error.code === 'unreachable';
}

const LOOK_MS = 500;
const TRIES_MAX = 3;
const FAILURES_MAX = 120;
const PACK_TRIES_MAX = 120;
const PACK_AGAIN_MS = 5_000;

/** The order for the server. Refuses flags that a server does not take. */
function orderOf(cases: string | undefined, flags: RunSuiteFlags): SuiteToStart {
  const other = Object.keys(flags).find(key => !REMOTE.has(key));
  if (other !== undefined) {
    const flag = `--${other.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
    throw new Fault('usage', `A suite on a server does not take ${flag}. Omit it, or run the suite here.`);
  }
  if (cases === undefined) throw new Fault('usage', 'Specify a case file: proctor run suite cases.yaml …');
  if (typeof flags.queue === 'string')
    throw new Fault('usage', 'A suite on a server uses the queue of the server. Use --queue without an address.');
  if (flags.as === undefined)
    throw new Fault('usage', 'Specify the side of the comparison: --as baseline or --as new.');
  return {
    as: flags.as,
    cases: fileOf(cases),
    ...defined({
      run_id: flags.runId,
      base_url: flags.baseUrl,
      target: flags.target === undefined ? undefined : fileOf(flags.target),
      script: flags.script === undefined ? undefined : fileOf(flags.script),
      only: flags.only?.flatMap(words => words.split(',')).map(word => word.trim()),
      concurrency: flags.concurrency,
      timeout_ms: flags.timeout,
      retries: flags.retries,
      limits: limitsFromFlags(flags) as SuiteToStart['limits'],
      provenance: flags.provenance && Object.fromEntries(flags.provenance.map(text => pairIn(text))),
      strict_replies: flags.strictReplies,
      queue: flags.queue,
      twice: flags.twice,
      headers: flags.header?.map(headerNamed),
    }),
  };
}

const REMOTE: ReadonlySet<string> = new Set([
  'on',
  'tokenFile',
  'json',
  'as',
  'runId',
  'baseUrl',
  'target',
  'script',
  'only',
  'concurrency',
  'timeout',
  'retries',
  'minPassRate',
  'maxFailing',
  'maxFlaky',
  'provenance',
  'strictReplies',
  'header',
  'queue',
  'twice',
]);

function fileOf(file: string): { readonly name: string; readonly text: string } {
  const bytes = readRegular(path.resolve(file), FILE_BYTES_MAX);
  const name = printable(path.basename(file));
  if (!bytes) throw new Fault('usage', `${name} does not exist, is not a regular file, or exceeds 32 MiB.`);
  try {
    return {
      name: path.basename(file),
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
    };
  } catch {
    throw new Fault('usage', `${name} is not valid UTF-8.`);
  }
}

const FILE_BYTES_MAX = 32 * 1024 ** 2;

/** The value of the variable is on the server. */
function headerNamed(text: string): { readonly name: string; readonly env: string } {
  const [, name, env] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]{1,100})\s*:\s*env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
  if (name === undefined || env === undefined)
    throw new Fault('usage', "A header must have the form 'NAME: env:VARIABLE'. The server has the variable.");
  return { name: name.toLowerCase(), env };
}

function pairIn(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
