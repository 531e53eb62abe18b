import http from 'node:http';
import https from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs } from '../../base/clock.ts';
import { type Address, isListening } from './ports.ts';

/** When an agent counts as ready: when everything that is declared here holds or, if nothing is, when its port is open. */
export interface ReadyDeclaration {
  /** A GET request to this path returns `status`. */
  readonly path?: string;
  /** Any 2xx status if absent. */
  readonly status?: number;
  /** The output contains this text. */
  readonly line?: string;
  readonly port?: true;
  /** Milliseconds. */
  readonly within?: number;
}

/** Says why an agent is not ready; undefined if it is. */
export type Probe = (signal: AbortSignal) => Promise<string | undefined>;

/** The result of waiting. `late` carries the last reason. */
export type Readiness = { readonly is: 'ready' | 'over' } | { readonly is: 'late'; readonly reason: string };

/** Waits until all probes succeed, `over` aborts, or the time is up. */
export async function untilReady(probes: readonly Probe[], withinMs: number, over: AbortSignal): Promise<Readiness> {
  const deadlineMs = monotonicMs() + withinMs;
  let reason = 'it was not probed';
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    const leftMs = Math.max(0, Math.ceil(deadlineMs - monotonicMs()));
    const isTooLong = AbortSignal.timeout(Math.min(leftMs, PROBE_MS_MAX));
    const found = await firstReason(probes, AbortSignal.any([over, isTooLong]));
    if (over.aborted) return { is: 'over' };
    if (found === undefined) return { is: 'ready' };
    reason = found;
    if (monotonicMs() + pauseMs >= deadlineMs) return { is: 'late', reason };
    await wait(pauseMs, undefined, { signal: over }).catch(() => undefined);
  }
}

async function firstReason(probes: readonly Probe[], signal: AbortSignal): Promise<string | undefined> {
  for (const probe of probes) {
    const reason = await probe(signal);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const PAUSE_MS_MIN = 10;
const PAUSE_MS_MAX = 200;
/** The first answer of a cold agent can take long. */
const PROBE_MS_MAX = 10_000;

/** The probes for a declaration. */
export function probesOf(ready: ReadyDeclaration, url: string, address: Address, hasSeen: () => boolean): Probe[] {
  const { path, status, line, port } = ready;
  const probes: Probe[] = [];
  if (line !== undefined)
    probes.push(async () => (hasSeen() ? undefined : 'its output does not contain the declared line'));
  if (path !== undefined || status !== undefined) probes.push(signal => answers(url, path ?? '/', status, signal));
  if (port === true || probes.length === 0) {
    probes.push(async signal =>
      (await isListening(address, signal)) ? undefined : `port ${address.port} does not accept connections`,
    );
  }
  return probes;
}

/** Never follows a redirect, and never reads a body. */
function answers(
  url: string,
  path: string,
  status: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const target = onOrigin(url, path);
  const name = `GET ${target.pathname}`;
  return new Promise(resolve => {
    const request = (target.protocol === 'https:' ? https : http).get(target, { agent: false, signal });
    request.once('response', response => {
      const got = response.statusCode ?? 0;
      response.destroy();
      const isWanted = status === undefined ? got >= 200 && got < 300 : got === status;
      resolve(isWanted ? undefined : `${name} returned ${got}`);
    });
    request.on('error', () => resolve(`${name} got no answer`));
    request.once('close', () => resolve(`${name} got no answer`));
  });
}

/** Whatever the path contains, the result has the origin of the URL. */
function onOrigin(url: string, path: string): URL {
  const target = new URL('/', url.replace(/^ws/, 'http'));
  const [pathname = '/', ...query] = path.split('?');
  target.pathname = pathname;
  target.search = query.join('?');
  return target;
}
