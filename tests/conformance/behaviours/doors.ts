import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect } from 'vitest';
import { forwarded, forwarderMounts } from '../../../src/execute/model/forwarder.ts';
import { makeStage, removeStage } from '../../../src/execute/host/workspace.ts';
import type { Behaviour } from '../backends.ts';
import { type Asked, LIMITS, python, shell, unique } from '../jobs.ts';

const PORT = 8_417;

/** Runs a program behind the forwarder. */
const through = (argv: readonly string[], more: Partial<Asked> = {}): Asked => ({
  argv: forwarded(argv, PORT),
  mounts: forwarderMounts(),
  door: true,
  ...more,
});

const ASKS = `
import concurrent.futures, socket, sys
def ask(text):
    with socket.create_connection(('127.0.0.1', ${PORT})) as line:
        line.sendall(text)
        line.shutdown(socket.SHUT_WR)
        return b''.join(iter(lambda: line.recv(65536), b''))
`;

const has = (name: string, holds: Behaviour['holds']): Behaviour => ({ name, needs: 'door', holds });

/** The socket of the model proxy: the only way out of a sandbox without a network. */
export const doors: Behaviour[] = [
  {
    name: 'forwards a port to the proxy socket, to the last byte in both directions',
    needs: 'door',
    holds: async world => {
      const code = `${ASKS}
print(ask(b'hello') == b'hello', ask(b'') == b'')
large = bytes(range(256)) * 20000
print(ask(large) == large)
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    print(all(pool.map(lambda no: ask(b'%d' % no) == b'%d' % no, range(200))))`;
      const { ending, out, err } = await world.run(through(python(code)));
      expect({ ending, out, err }).toEqual({
        ending: { how: 'exited', code: 0 },
        out: 'True True\nTrue\nTrue\n',
        err: '',
      });
    },
    lacking: world =>
      expect(world.run({ argv: shell(':'), door: true })).rejects.toMatchObject({ code: 'not_enforceable' }),
  },
  has('a broken connection does not affect others', async world => {
    const code = `${ASKS}
import struct
broken = socket.create_connection(('127.0.0.1', ${PORT}))
broken.sendall(b'x' * 1000)
broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
broken.close()
print(ask(b'still there'))`;
    const { ending, out, err } = await world.run(through(python(code)));
    expect({ ending, out, err }).toEqual({ ending: { how: 'exited', code: 0 }, out: "b'still there'\n", err: '' });
  }),
  has('a proxy socket gives access to no other server or address', async world => {
    const server = createServer(socket => socket.end('reached'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const name = unique('nameless');
    const nameless = createServer(socket => socket.end('reached'));
    nameless.listen(`\0${name}`);
    await once(nameless, 'listening');
    const code = `
import errno, socket, sys
def attempt(act):
    try: act(); print('through')
    except OSError as error: print(errno.errorcode.get(error.errno, error))
attempt(lambda: socket.create_connection(('127.0.0.1', ${port}), 3))
attempt(lambda: socket.create_connection(('192.0.2.1', 80), 3))
attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt(lambda: socket.socket(socket.AF_UNIX).connect('\\0${name}'))
attempt(lambda: open('/agent/door/new', 'x'))
attempt(lambda: socket.socket(socket.AF_UNIX).connect('/agent/door/model.sock'))`;
    try {
      const { out } = await world.run(through(python(code)));
      expect(out.trim().split('\n')).toEqual([
        'ECONNREFUSED',
        'ENETUNREACH',
        'EPROTONOSUPPORT',
        'ECONNREFUSED',
        'EROFS',
        'through',
      ]);
    } finally {
      server.close();
      nameless.close();
    }
  }),
  has('forwards 256 connections at once, and refuses only the next', async world => {
    const code = `
import socket
def line(): return socket.create_connection(('127.0.0.1', ${PORT}), 20)
def heard(line):
    line.shutdown(socket.SHUT_WR)
    return line.recv(100)
lines = [line() for _ in range(256)]
for each in lines: each.sendall(b'one')
extra = line()
try: print(extra.recv(100))
except OSError: print(b'')
print({heard(each) for each in lines})
again = line()
again.sendall(b'again')
print(heard(again))`;
    const { out, err } = await world.run(through(python(code), { limits: { openFiles: 2_048 } }));
    expect({ out, err }).toEqual({ out: "b''\n{b'one'}\nb'again'\n", err: '' });
  }),
  has('there are no named sockets without a proxy socket', async world => {
    const { out } = await world.run({
      argv: python(
        'import errno, socket\ntry: socket.socket(socket.AF_UNIX)\nexcept OSError as e: print(errno.errorcode[e.errno])',
      ),
    });
    expect(out).toBe('EAFNOSUPPORT\n');
  }),
  has('a program behind the forwarder has its own input, variables and exit code', async world => {
    const env = { PATH: '/usr/bin:/bin', WORD: 'of ours' };
    const { ending, out, err } = await world.run(
      through(shell('cat; env | grep -v ^_= | sort; echo err >&2; exit 7'), { input: 'task\n', env }),
    );
    expect({ ending, out, err }).toEqual({
      ending: { how: 'exited', code: 7 },
      out: 'task\nPATH=/usr/bin:/bin\nPWD=/work\nWORD=of ours\n',
      err: 'err\n',
    });
    const ends = [shell('kill -SEGV $$'), ['/agent/none'], ['/work/input/text']].map(argv =>
      world.run(through(argv, { files: { text: '' } })),
    );
    expect((await Promise.all(ends)).map(({ ending, out, err }) => ({ ending, said: out + err }))).toEqual(
      [139, 127, 126].map(code => ({ ending: { how: 'exited', code }, said: '' })),
    );
  }),
  has('a program behind the forwarder gets SIGTERM and can clean up', async world => {
    const said: string[] = [];
    const prepared = await world.open(
      through(shell('trap "echo bye; exit 3" TERM; echo up; sleep 60 & wait'), { limits: { graceMs: 10_000 } }),
      true,
    );
    try {
      const { ending, stdout, survivors } = await prepared.start((_, bytes) => {
        said.push(Buffer.from(bytes).toString());
        if (said.join('').includes('up')) prepared.stop('cancel');
      });
      expect(ending).toEqual({ how: 'killed', by: 'cancel', signal: 'SIGTERM' });
      expect(Buffer.from(stdout.head).toString()).toMatch(/^up\n(?:bye\n)+$/);
      expect(survivors).toBe(0);
    } finally {
      await prepared.close();
    }
  }),
  has('refuses a proxy socket without a server, or with an open network', async world => {
    await expect(world.run({ argv: shell(':'), door: true, network: 'open' })).rejects.toMatchObject({
      code: 'not_enforceable',
    });
    const stage = makeStage(unique('door'));
    try {
      const job = { id: unique('door'), backend: world.backend.name, argv: shell(':'), env: {}, stage, staged: [] };
      const rest = { network: 'blocked', limits: LIMITS, secrets: [], live: false, door: true } as const;
      await expect(world.launcher.open({ ...job, ...rest })).rejects.toMatchObject({ code: 'stage_failed' });
      // A file is not a server.
      mkdirSync(path.join(stage, 'door'));
      writeFileSync(path.join(stage, 'door', 'model.sock'), '');
      await expect(world.launcher.open({ ...job, ...rest })).rejects.toMatchObject({ code: 'stage_failed' });
    } finally {
      removeStage(stage);
    }
  }),
];
