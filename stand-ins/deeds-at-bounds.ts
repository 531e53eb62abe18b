import { spawn } from 'node:child_process';
import { appendFileSync, copyFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { type Deed, uses } from './scene.ts';
import { pause, print } from './stream.ts';

const RETRY_MS = 20;
const FLOOD_LINE = Buffer.from(`${JSON.stringify({ type: 'flood', text: 'x'.repeat(65_000) })}\n`);
/** Long enough for a test to find the process, but finite. */
const STAY_SECONDS = 60;
const HOUR_MS = 3_600_000;
/** The socket of the model proxy, which works without a network. */
const DOOR_PORT = 8417;

/** The actions of an agent that exceeds its limits. */
export const bounds: Readonly<Record<string, Deed>> = {
  hang: () => forever(),
  /** Alive, but without progress. */
  retry: async ({ tongue }, times = 'Infinity') => {
    for (let attempt = 1; attempt <= Number(times); attempt++) {
      tongue.retries(attempt);
      await rest(RETRY_MS);
    }
  },
  /** Writes this many bytes, or writes forever. */
  flood: (_scene, bytes = 'Infinity') => {
    for (let printed = 0; printed < Number(bytes); printed += FLOOD_LINE.length) print(FLOOD_LINE);
  },
  flood_stderr: (_scene, bytes = 'Infinity') => {
    for (let printed = 0; printed < Number(bytes); printed += FLOOD_LINE.length) print(FLOOD_LINE, 2);
  },
  /** One long line in one write, like a program that does not handle EAGAIN. */
  at_once: (_scene, bytes = '4000000') => {
    const line = Buffer.from(`${JSON.stringify({ type: 'flood', text: 'x'.repeat(Number(bytes)) })}\n`);
    if (writeSync(1, line) !== line.length) throw new Error('The line was not written completely.');
  },
  /** Sends a request to the model proxy and waits for the answer. */
  knock: () =>
    new Promise<void>(resolve => {
      const socket = connect({ host: '127.0.0.1', port: DOOR_PORT }, () => void socket.write('GET / HTTP/1.0\r\n\r\n'));
      socket.on('error', () => undefined).once('close', () => resolve());
      socket.resume();
    }),
  /** One line, in several writes. */
  long_line: (_scene, bytes = '100000000') => {
    print('{"type":"assistant","text":"');
    const piece = 'x'.repeat(1_000_000);
    for (let printed = 0; printed < Number(bytes); printed += piece.length) print(piece);
    print('"}\n');
  },
  /** A line that never ends. */
  no_line_feed: () => {
    print('{"type":"assis');
    return forever();
  },
  /** Starts children in a new session that outlive it, close all descriptors, and write after a delay in seconds. */
  detach: (_scene, seconds = '2') => apart(`sleep ${seconds}; echo late > late.txt; sleep ${STAY_SECONDS}`, 'ignore'),
  /** The same, but the children keep the pipes open. */
  detach_holding: (_scene, seconds = '2') =>
    apart(`sleep ${seconds}; echo late > late.txt; sleep ${STAY_SECONDS}`, 'inherit'),
  /** Starts a program under a given name. Returns once the program runs. */
  detach_as: (_scene, name = 'daemon') => {
    copyFileSync('/usr/bin/sleep', `/tmp/${name}`);
    spawn(`/tmp/${name}`, [String(STAY_SECONDS)], { detached: true, stdio: 'ignore' }).unref();
  },
  deaf: () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {});
    return forever();
  },
  /** On SIGTERM it writes at once, and leaves a child that writes again. */
  late: () => {
    process.on('SIGTERM', () => {
      writeFileSync('late.txt', 'written after the kill\n');
      apart('sleep 1; echo later > later.txt', 'ignore');
    });
    return forever();
  },
  /** Asks a question on `stdout` or `stderr` and waits. With the suffix `_line`, adds a line feed. */
  ask: (_scene, where = 'stdout') => {
    const question = 'Do you want to make this edit to hello.txt? (y/n) ';
    print(where.endsWith('_line') ? `${question}\n` : question, where.startsWith('stderr') ? 2 : 1);
    return forever();
  },
  ask_password: () => {
    print('Password: ', 2);
    return forever();
  },
  /** A tool that is silent for this many milliseconds. */
  quiet_tool: ({ tongue }, ms = '3000') =>
    uses(tongue, 'command', 'make slowly', () => {
      pause(Number(ms));
      return 'made\n';
    }),
  wait: (_scene, ms = '1000') => rest(Number(ms)),
  no_result: scene => {
    scene.atEnd = () => {};
  },
  half_result: scene => {
    scene.atEnd = () => print('{"type":"result","subtype":"success","is_err');
  },
  twice: scene => {
    const { atEnd } = scene;
    scene.atEnd = () => {
      atEnd();
      atEnd();
    };
  },
  api_error: (scene, status = '529') => {
    scene.atEnd = () => scene.tongue.fails(Number(status));
    scene.afterwards = () => process.exit(1);
  },
  /** The error appears only in the stream. */
  api_error_exit_0: (scene, status = '529') => {
    scene.atEnd = () => scene.tongue.fails(Number(status));
  },
  /** After its last line. */
  exit: (scene, code = '1') => {
    scene.afterwards = () => process.exit(Number(code));
  },
  crash: (_scene, code = '1') => process.exit(Number(code)),
  signal: async (_scene, name = 'SIGKILL') => {
    process.kill(process.pid, name);
    await forever();
  },
  /** Prints its last line but does not exit. */
  linger: scene => {
    scene.afterwards = () => pause(HOUR_MS);
  },
  /** Writes this many bytes to a file. Its last message reports the result. */
  fill_tmp: (scene, bytes = '100000000') => {
    const piece = Buffer.alloc(1_000_000, 1);
    try {
      for (let written = 0; written < Number(bytes); written += piece.length) appendFileSync('/tmp/filled', piece);
      scene.finalText = `${bytes} bytes in /tmp`;
    } catch (error) {
      scene.finalText = String((error as NodeJS.ErrnoException).code);
      rmSync('/tmp/filled');
    }
  },
  memory: () => {
    const held: Buffer[] = [];
    for (;;) held.push(Buffer.alloc(16 * 1024 ** 2, held.length + 1));
  },
  processes: (_scene, many = '5000') => {
    for (let child = 0; child < Number(many); child++) apart(`sleep ${STAY_SECONDS}`, 'ignore');
  },
  /** Connects to `HOST:PORT`, and prints and stores the result. */
  connect: async ({ tongue }, to = '127.0.0.1:80') => {
    const [host = '', port = ''] = to.split(/:(?=\d+$)/);
    const came = await new Promise<string>(resolve => {
      const socket = connect({ host, port: Number(port), timeout: 2_000 });
      socket.once('connect', () => resolve('NET-OK')).once('timeout', () => resolve('NET-SILENT'));
      socket.once('error', error => resolve(`NET-BLOCKED ${(error as NodeJS.ErrnoException).code}`));
    });
    writeFileSync('net.txt', `${came}\n`);
    uses(tongue, 'command', `connect ${to}`, () => came);
  },
  /** Prints the value of a variable, in a message and on stderr. */
  tell: ({ tongue }, name = 'HOME') => {
    tongue.says(`${name} is ${process.env[name] ?? 'not there'}`);
    print(`${name} is ${process.env[name] ?? 'not there'}\n`, 2);
  },
};

function apart(script: string, stdio: 'ignore' | 'inherit'): void {
  spawn('/bin/sh', ['-c', script], { detached: true, stdio })
    .once('error', () => {})
    .unref();
}

/** Waits without blocking signals. */
function forever(): Promise<never> {
  setInterval(() => {}, HOUR_MS);
  return new Promise(() => {});
}

function rest(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms);
  });
}
