import { type HttpAnswer, HttpTarget } from '../../execute/http.ts';
import { namedPorts } from './find-start.ts';
import { DOCUMENT_BYTES_MAX, jsonObjectIn } from './folder.ts';
import { type ProbeReply, PROBES, type Speech, speechOf } from './speech.ts';
import type { Look } from './look.ts';

/** A server on this machine that answers HTTP. */
export interface FoundServer {
  readonly origin: string;
  readonly port: number;
  /** Whether the user or a file in the folder names its port. Other servers may belong to another project. */
  readonly isNamed: boolean;
  /** Whether GET /health answers with 2xx. */
  readonly hasHealth: boolean;
  readonly speaks: Speech;
}

/** Probes the ports that the folder names, then well-known ones. Only on loopback, and all at once. */
export async function findServers({ cwd, url, ports = WELL_KNOWN }: Look): Promise<FoundServer[]> {
  const origin = url === undefined ? undefined : loopbackOrigin(url);
  const own = [...new Set(namedPorts(cwd))].slice(0, NAMED_MAX);
  const others = ports.filter(port => !own.includes(port));
  const found = await Promise.all([
    ...(origin === undefined ? [] : [serverAt([origin], true)]),
    ...own.map(port => serverAt(originsOf(port), true)),
    ...others.map(port => serverAt(originsOf(port), false)),
  ]);
  return found.filter(server => server !== undefined);
}

const WELL_KNOWN = [3000, 5000, 8000, 8080, 8787];
const NAMED_MAX = 10;

function originsOf(port: number): string[] {
  return [`http://127.0.0.1:${port}`, `http://[::1]:${port}`];
}

/** The origin of a URL on this machine; undefined for any other. */
export function loopbackOrigin(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, origin } = new URL(url);
  return /^https?:$/.test(protocol) && LOOPBACK.test(hostname) ? origin : undefined;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The first of these origins that answers. */
async function serverAt(origins: readonly string[], isNamed: boolean): Promise<FoundServer | undefined> {
  const found = await Promise.all(origins.map(origin => probed(origin, isNamed)));
  return found.find(server => server !== undefined);
}

async function probed(origin: string, isNamed: boolean): Promise<FoundServer | undefined> {
  const server = new HttpTarget(origin, PROBES_MAX);
  try {
    // A server that the user named may be slow at first, so Proctor probes it more than once.
    let answers = await askAll(server);
    const rounds = isNamed ? ROUNDS_MAX : 1;
    for (let round = 1; round < rounds && answers.some(isLate); round++) answers = await askAll(server);
    const replies = answers.map(([name, answer]) => [name, replyOf(answer)] as const);
    const known = replies.filter((one): one is [string, ProbeReply] => one[1] !== undefined);
    if (known.length === 0) return undefined;
    const byName = Object.fromEntries(known) as Parameters<typeof speechOf>[1];
    const { port, protocol } = new URL(origin);
    const health = byName.health?.status ?? 0;
    return {
      origin,
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      isNamed,
      hasHealth: health >= 200 && health < 300,
      speaks: speechOf(origin, byName),
    };
  } finally {
    await server.close();
  }
}

function askAll(server: HttpTarget): Promise<(readonly [string, HttpAnswer])[]> {
  return Promise.all(
    Object.entries(PROBES).map(async ([name, path]) => [name, await server.send(probeOf(path))] as const),
  );
}

function isLate([, { ended }]: readonly [string, HttpAnswer]): boolean {
  return ended === 'timeout' || ended === 'idle';
}

const ROUNDS_MAX = 4;
const PROBES_MAX = Object.keys(PROBES).length;
const PROBE_MS = 500;

const probeOf = (path: string) =>
  ({
    method: 'GET',
    path,
    headers: { accept: 'application/json' },
    deadlineMs: PROBE_MS,
    idleMs: PROBE_MS,
    bodyBytesMax: DOCUMENT_BYTES_MAX,
    redirectsMax: 0,
  }) as const;

function replyOf({ ended, status, body }: HttpAnswer): ProbeReply | undefined {
  if (status === undefined) return undefined;
  return { status, value: ended === 'complete' ? jsonObjectIn(body) : undefined };
}
