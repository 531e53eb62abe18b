import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { newCorrelationId } from '../../../src/base/ids.ts';
import { procText, timesOf } from '../../../src/execute/host/proc-files.ts';
import { freePort } from '../../../src/execute/served/ports.ts';
import { type Served, type ServedLog, type StartDeclaration, startServed } from '../../../src/execute/served/served.ts';
import { processesWith } from '../../conformance/support.ts';
import { temporaryFolder } from '../../support/support.ts';

/** A program of a test. Its processes have `word` among their arguments, and are killed after the test. */
export interface TestAgent {
  readonly word: string;
  readonly run: readonly string[];
  readonly cwd: string;
}

/** Writes a Node script that every user can read. `WORD` in the script is the agent's unique word. */
export function agentOf(script: string): TestAgent {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const word = `agent-${newCorrelationId()}`;
  writeFileSync(path.join(folder, 'agent.mjs'), `${PRELUDE}\n${script}`, { mode: 0o644 });
  onTestFinished(() => killAll(word));
  return { word, run: [process.execPath, 'agent.mjs', word], cwd: folder };
}

/** Only processes that this test started have the word. */
function killAll(word: string): void {
  for (const pid of processesWith(word)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** The processes that an agent started with `asleep`. */
export function sleepersOf({ word }: TestAgent): number[] {
  return processesWith(word).filter(pid => procText(`/proc/${pid}/cmdline`)?.startsWith('/bin/sh\0-c\0trap'));
}

const PRELUDE = `
import { spawn } from 'node:child_process';
import http from 'node:http';
const WORD = process.argv[2];
/** Serves the routes, by path; each returns a status and a text. */
const serve = routes => http.createServer((request, response) => {
  const [status, text = '', headers = {}] = routes[request.url]?.() ?? [404];
  response.writeHead(status, headers).end(text);
}).listen(Number(process.env.PORT), '127.0.0.1');
const asleep = ['/bin/sh', '-c', 'trap "" TERM; while :; do sleep 1; done', WORD];
`;

export interface Tried {
  readonly port: number;
  readonly logs: ServedLog[];
  readonly started: Promise<Served>;
}

interface TryOptions {
  readonly port?: number;
  readonly secrets?: readonly string[];
  readonly signal?: AbortSignal;
  readonly log?: (log: ServedLog) => void;
}

/** Starts an agent, with `PORT` in its environment, and stops it after the test. */
export async function tryToStart(
  { run, cwd }: TestAgent,
  declaration: Partial<StartDeclaration> = {},
  { port: fixed, secrets = [], signal, log }: TryOptions = {},
): Promise<Tried> {
  const port = fixed ?? (await freePort());
  const logs: ServedLog[] = [];
  const started = startServed(
    { run, cwd, ...declaration, env: { PORT: String(port), ...declaration.env } },
    {
      port,
      url: `http://127.0.0.1:${port}/base`,
      environment: process.env,
      secrets,
      log: log ?? (kept => void logs.push(kept)),
      ...(signal && { signal }),
    },
  );
  started.catch(() => undefined);
  onTestFinished(() =>
    started.then(
      served => served.stop().catch(() => undefined),
      () => undefined,
    ),
  );
  return { port, logs, started };
}

export async function started(
  agent: TestAgent,
  declaration: Partial<StartDeclaration> = {},
  options: TryOptions = {},
): Promise<{ served: Served; port: number; logs: ServedLog[] }> {
  const { started, ...rest } = await tryToStart(agent, declaration, options);
  return { served: await started, ...rest };
}

export async function get(port: number, place: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}${place}`)).text();
}

export function parentOf(pid = 0): number {
  const parent = timesOf('/proc', pid)?.parent;
  if (parent === undefined) throw new Error('The process has ended');
  return parent;
}

export const textOf = (logs: readonly ServedLog[]): string => logs.map(({ bytes }) => bytes.toString()).join('');
