/** Plays Proctor in a separate process, which tests can kill or run as another user. */
import { setTimeout as wait } from 'node:timers/promises';
import { timesOf } from '../../../src/execute/host/proc-files.ts';
import { freePort } from '../../../src/execute/served/ports.ts';
import { startServed } from '../../../src/execute/served/served.ts';
import { agentVersion } from '../../../src/execute/served/agent-version.ts';

export interface ServedOrder {
  readonly run: readonly string[];
  readonly cwd: string;
  /** What to do with the agent once it is ready. */
  readonly then: 'stop' | 'hold' | 'forget';
}

const { run, cwd, then } = JSON.parse(process.argv[2] ?? '') as ServedOrder;
const context = { environment: process.env, secrets: ['hunter2-hunter2'] };
const port = await freePort();
let log = '';
const served = await startServed(
  { run, cwd, env: { PORT: String(port) }, ready: { path: '/' }, stop: { within: 60_000 } },
  { ...context, port, url: `http://127.0.0.1:${port}`, log: ({ bytes }) => void (log = bytes.toString()) },
);
say({ keeper: timesOf('/proc', served.pid ?? 0)?.parent });
if (then === 'hold') await wait(600_000);
if (then === 'stop') {
  // Waits until the test has inspected the agent.
  for await (const _ of process.stdin) break;
  await served.stop();
  const { version } = await agentVersion({ run: ['/bin/sh', '-c', 'echo hunter2-hunter2 1.2.3'], cwd }, context);
  say({ exit: await served.exited, log, version });
}

function say(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
