/**
 * Runs inside a sandbox in front of an agent: `SOCKET PORT -- PROGRAM ARGS…`. It listens where the agent looks for its
 * model, carries every connection to the socket behind the door, and ends as the agent ends. It says nothing itself: all
 * streams are the agent's alone. Every run waits for it to start, so it loads next to nothing.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';

const [socketPath = '', port = '', , program = '', ...args] = process.argv.slice(2);

/** An agent has a few at a time. Who comes when there are more is turned away. */
const CONNECTIONS_MAX = 256;

const server = createServer({ allowHalfOpen: true }, inside => {
  const outside = connect({ path: socketPath, allowHalfOpen: true });
  join(inside, outside);
  join(outside, inside);
});
server.maxConnections = CONNECTIONS_MAX;
// Only the agent keeps this process alive; connections that are open when it ends are nobody's any more.
server.unref();
server.once('error', () => end(NOT_RUNNABLE));
server.listen(Number(port), '127.0.0.1', start);
// Without a listener, this signal makes Node open a debugger to every process of the agent.
process.on('SIGUSR1', () => undefined);

/** What one end says the other hears, and when it has said all. If one breaks, both do. */
function join(from: Socket, to: Socket): void {
  from.unref();
  from.pipe(to);
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroySoon());
}

function start(): void {
  try {
    const child = spawn(program, args, { stdio: 'inherit' });
    child.once('error', failed);
    child.once('exit', (code, name) => end(name === null ? (code ?? 0) : 128 + numberOf(name)));
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => child.kill(name));
    letGo();
  } catch (error) {
    failed(error);
  }
}

/**
 * Leaves the streams to the agent. Node makes a stream non-blocking when it opens it as its own, and `pipe` asks for
 * process.stdout. A stream that is shared would be non-blocking for the agent, too: a large write would fail with EAGAIN.
 */
function letGo(): void {
  for (const fd of [0, 1, 2]) {
    closeSync(fd);
    // The kernel gives the lowest free number.
    openSync('/dev/null', 'r+');
  }
}

/** As a shell says it. */
function failed(error: unknown): void {
  const { code } = error as { code?: string };
  end(code === 'ENOENT' || code === 'ENOTDIR' ? NOT_FOUND : NOT_RUNNABLE);
}

function numberOf(name: NodeJS.Signals): number {
  return process.getBuiltinModule('node:os').constants.signals[name];
}

function end(code: number): void {
  process.exitCode = code;
}

const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;
