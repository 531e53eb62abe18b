/**
 * Runs inside a sandbox in front of an agent: `SOCKET PORT -- PROGRAM ARGS…`. It listens on the port that the agent
 * uses for its model, forwards every connection to the proxy's socket, and exits with the agent's exit code. It prints
 * nothing, because all streams belong to the agent. Every run waits for it to start, so it loads very little.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';

const [socketPath = '', port = '', , program = '', ...args] = process.argv.slice(2);

/** An agent has a few connections at a time. Further ones are refused. */
const CONNECTIONS_MAX = 256;

const server = createServer({ allowHalfOpen: true }, inside => {
  const outside = connect({ path: socketPath, allowHalfOpen: true });
  join(inside, outside);
  join(outside, inside);
});
server.maxConnections = CONNECTIONS_MAX;
// Only the agent keeps this process alive. Open connections do not.
server.unref();
server.once('error', () => end(NOT_RUNNABLE));
server.listen(Number(port), '127.0.0.1', start);
// Without a listener, SIGUSR1 makes Node open a debugger port, which all of the agent's processes could use.
process.on('SIGUSR1', () => undefined);

/** Forwards data and its end from one socket to the other. An error on one closes both. */
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
 * Releases the streams to the agent. Node makes a stream non-blocking when it opens it, and a shared stream would then
 * be non-blocking for the agent too: a large write would fail with EAGAIN.
 */
function letGo(): void {
  for (const fd of [0, 1, 2]) {
    closeSync(fd);
    // The kernel assigns the lowest free descriptor.
    openSync('/dev/null', 'r+');
  }
}

/** Uses the exit codes of a shell. */
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
