import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findCgroups } from '../../../src/execute/cgroups/cgroups.ts';
import { cgroupMounts } from '../../../src/execute/cgroups/mounts.ts';
import { isAlive } from '../../../src/execute/host/processes.ts';
import { allGone, processesWith } from '../../conformance/support.ts';
import { agentOf, get, parentOf, sleepersOf, started, textOf, tryToStart } from './served-world.ts';

const { version } = await findCgroups();

const SERVER = `serve({ '/': () => [200, 'hello'], '/die': () => process.exit(7) });`;

describe('an agent is ready', () => {
  test('when its path returns a 2xx status, without following a redirect', async () => {
    const agent = agentOf(`
      let asked = 0, moved = 0;
      serve({
        '/health?deep=1': () => ++asked < 3 ? [503] : asked < 5 ? [302, '', { location: '/moved' }] : [204],
        '/moved': () => [200, String(++moved)],
        '/asked': () => [200, asked + ' ' + moved],
      });`);
    const { served, port } = await started(agent, { ready: { path: '/health?deep=1' } });
    expect(await get(port, '/asked')).toBe('5 0');
    expect(served).toMatchObject({ port, reused: false });
    expect(processesWith(agent.word)).toEqual([served.pid]);
    expect(served.hasEnded()).toBe(false);
  });

  test('when its path returns the declared status and no other', async () => {
    const agent = agentOf(`
      let asked = 0;
      serve({ '/': () => [++asked < 3 ? 200 : 401], '/asked': () => [200, String(asked)] });`);
    const { port } = await started(agent, { ready: { status: 401 } });
    expect(await get(port, '/asked')).toBe('3');
  });

  test.each(['stdout', 'stderr'])('when %s contains the line, even if it arrives in two pieces', async stream => {
    const agent = agentOf(`
      process.${stream}.write('warming up\\nnow list');
      setTimeout(() => process.${stream}.write('ening to you'), 50);
      setInterval(() => undefined, 1_000);`);
    const { served } = await started(agent, { ready: { line: 'listening to' } });
    expect(processesWith(agent.word)).toEqual([served.pid]);
  });

  test('when its port is open, if nothing else is declared', async () => {
    const { port } = await started(agentOf(SERVER));
    expect(await get(port, '/')).toBe('hello');
  });

  test('when all declared conditions hold', async () => {
    const agent = agentOf(`
      let isLate = false;
      serve({ '/': () => [isLate ? 200 : 503], '/is-late': () => [200, String(isLate)] });
      console.log('early');
      setTimeout(() => { isLate = true; }, 100);`);
    const { port } = await started(agent, { ready: { line: 'early', path: '/', port: true } });
    expect(await get(port, '/is-late')).toBe('true');
  });
});

describe('an agent that does not become ready', () => {
  test('is stopped, and the fault contains the reason and its last lines', async () => {
    const agent = agentOf(`console.log('\\u001b[32mno\\u001b[0m database\\u0007'); serve({ '/': () => [503] });`);
    const { started, logs } = await tryToStart(agent, { ready: { path: '/', within: 1_500 } });
    const fault = await started.catch((error: unknown) => error);
    expect(processesWith(agent.word)).toEqual([]);
    // On a busy machine, the agent may not get as far as its first line.
    const output = textOf(logs) === '' ? 'It printed nothing.' : 'Its last lines:\n  no database\\u{7}';
    expect(fault).toMatchObject({ name: 'Fault', code: 'agent_not_ready', message: expect.stringContaining(output) });
    expect(fault).toHaveProperty(
      'message',
      expect.stringMatching(/^The agent was not ready within 1\.5 s: GET \/ (?:returned 503|got no answer)\. It/),
    );
  });

  test.each([
    [{ path: '/x' }, 'GET /x got no answer'],
    [{ line: 'x' }, 'its output does not contain the declared line'],
    [{}, /port \d+ does not accept connections/],
  ])('reports which condition failed: %j', async (ready, reason) => {
    const agent = agentOf('setInterval(() => undefined, 1_000);');
    const { started } = await tryToStart(agent, { ready: { ...ready, within: 20 } });
    await expect(started).rejects.toThrow(reason);
    await expect(started).rejects.toThrow('It printed nothing.');
    expect(processesWith(agent.word)).toEqual([]);
  });

  test('because it exits early reports its exit code and last lines, without secrets', async () => {
    const agent = agentOf(`
      for (let line = 1; line <= 30; line++) console.log('line ' + line + '.');
      console.error('the key is hunt' + 'er2-hunter2');
      process.exitCode = 3;`);
    const { started, logs } = await tryToStart(agent, {}, { secrets: ['hunter2-hunter2'] });
    const { message, code } = await started.then(
      () => ({ message: '', code: '' }),
      (error: { message: string; code: string }) => error,
    );
    expect(code).toBe('agent_not_ready');
    const [first, ...lines] = message.split('\n');
    expect(first).toBe('The agent exited with code 3 before it was ready. Its last lines:');
    expect(lines).toHaveLength(20);
    expect([lines[0], lines.at(-1)]).toEqual(['  line 12.', '  the key is [masked]']);
    expect(textOf(logs)).toMatch(/^line 1\.\n[^]*line 30\.\nthe key is \[masked\]\n$/);
    expect(logs).toMatchObject([{ isCut: false, masked: 1, kinds: { declared_secret: 1 } }]);
  });

  test('because a signal ends it names the signal', async () => {
    const agent = agentOf(`process.kill(process.pid, 'SIGSEGV'); setInterval(() => undefined, 1_000);`);
    const { started } = await tryToStart(agent);
    await expect(started).rejects.toThrow('SIGSEGV ended the agent before it was ready. It printed nothing.');
  });

  test.each([
    [{ run: ['no-such-program-anywhere'] }, 'The program "no-such-program-anywhere" was not found in PATH.'],
    [{ run: ['./agent.mjs'] }, 'The program "agent.mjs" does not exist or is not executable.'],
    [{ cwd: '/no/such/folder' }, 'The program cannot start: its folder (`cwd`) does not exist.'],
    [{ env: { A: 'x\0y' } }, 'The program could not be started (ERR_INVALID_ARG_VALUE).'],
  ])('because it cannot start with %j reports why', async (declaration, message) => {
    const { started } = await tryToStart(agentOf(''), declaration);
    await expect(started).rejects.toMatchObject({ code: 'agent_not_ready', message });
  });

  test('because the run is cancelled is stopped', async () => {
    const cancelling = new AbortController();
    const agent = agentOf(`serve({ '/': () => [503], '/cancelled': () => [200] });`);
    const { port, started, logs } = await tryToStart(agent, { ready: { path: '/' } }, { signal: cancelling.signal });
    await expect.poll(() => get(port, '/cancelled').catch(() => 'closed')).toBe('');
    cancelling.abort();
    await expect(started).rejects.toMatchObject({ code: 'cancelled' });
    expect(processesWith(agent.word)).toEqual([]);
    expect(logs).toHaveLength(1);
    await expect((await tryToStart(agent, {}, { signal: cancelling.signal })).started).rejects.toMatchObject({
      code: 'cancelled',
    });
  });
});

describe('a run that is cancelled while the agent starts', () => {
  test('stops it without waiting for it to be ready', async () => {
    const cancelling = new AbortController();
    const agent = agentOf(`serve({ '/': () => [503] });`);
    const declaration = { ready: { path: '/', within: 600_000 } };
    const { started } = await tryToStart(agent, declaration, { signal: cancelling.signal });
    cancelling.abort();
    await expect(started).rejects.toMatchObject({ code: 'cancelled' });
    expect(processesWith(agent.word)).toEqual([]);
  });
});

describe('an agent that ends after it was ready', () => {
  test('reports how it ended and its last lines, and leaves no process', async () => {
    const agent = agentOf(`
      spawn('/usr/bin/setsid', asleep, { stdio: 'inherit' });
      process.on('exit', () => console.error('out of ideas'));
      ${SERVER}`);
    const { served, port, logs } = await started(agent);
    await expect.poll(() => processesWith(agent.word)).toHaveLength(2);
    await get(port, '/die').catch(() => undefined);
    expect(await served.exited).toEqual({ code: 7, signal: null });
    expect(served.hasEnded()).toBe(true);
    expect(served.lastLines()).toEqual(['out of ideas']);
    expect(processesWith(agent.word)).toEqual([]);
    await served.stop();
    expect(textOf(logs)).toBe('out of ideas\n');
  });
});

describe('stop', () => {
  test('sends SIGTERM to the process group, and waits for all of it', async () => {
    const agent = agentOf(`
      // Ends after its parent.
      const child = "process.on('SIGTERM', () => setTimeout(() => { console.log('child'); process.exit(); }, 300)); console.log('up')";
      spawn(process.execPath, ['-e', child + '; setInterval(() => 0, 1000)', WORD], { stdio: 'inherit' });
      process.on('SIGTERM', () => { console.log('parent'); process.exit(5); });
      ${SERVER}`);
    const { served, logs } = await started(agent, { ready: { line: 'up', port: true }, stop: { within: 60_000 } });
    await served.stop();
    expect(await served.exited).toEqual({ code: 5, signal: null });
    expect(textOf(logs)).toBe('up\nparent\nchild\n');
    expect(processesWith(agent.word)).toEqual([]);
  });

  test('sends the declared signal', async () => {
    const agent = agentOf(`process.on('SIGINT', () => { console.log('interrupted'); process.exit(); }); ${SERVER}`);
    const { served, logs } = await started(agent, { stop: { signal: 'SIGINT', within: 60_000 } });
    await served.stop();
    expect(textOf(logs)).toBe('interrupted\n');
  });

  test('kills an agent that ignores the signal', async () => {
    const agent = agentOf(`process.on('SIGTERM', () => console.log('never')); ${SERVER}`);
    const { served } = await started(agent, { stop: { within: 100 } });
    await Promise.all([served.stop(), served.stop()]);
    expect(await served.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(processesWith(agent.word)).toEqual([]);
  });

  test('ends processes that started their own session, lost their parent, or cleared their environment', async () => {
    const agent = agentOf(`
      spawn('/usr/bin/setsid', asleep, { stdio: 'ignore', detached: true });
      spawn('/bin/sh', ['-c', 'setsid "$@" & exit 0', 'sh', ...asleep], { stdio: 'ignore' });
      spawn('/usr/bin/setsid', asleep, { stdio: 'ignore', env: {} });
      ${SERVER}`);
    const { served } = await started(agent, { stop: { within: 0 } });
    await expect.poll(() => sleepersOf(agent)).toHaveLength(3);
    await served.stop();
    expect(processesWith(agent.word)).toEqual([]);
  });

  test.runIf(version !== 'none')('ends such a process even if it started before the agent itself', async () => {
    const agent = agentOf(SERVER);
    const orphan = 'env -i setsid /bin/sh -c "trap \\"\\" TERM; while :; do sleep 1; done" "$0" >/dev/null 2>&1';
    const script = `(${orphan} &); exec "$@"`;
    const { served } = await started({ ...agent, run: ['/bin/sh', '-c', script, agent.word, ...agent.run] });
    await expect.poll(() => sleepersOf(agent)).toHaveLength(1);
    await served.stop();
    expect(processesWith(agent.word)).toEqual([]);
  });

  test('reports an error of the log, and still ends the agent', async () => {
    const agent = agentOf(SERVER);
    const log = (): never => {
      throw new Error('disk full');
    };
    const { served } = await started(agent, {}, { log });
    await expect(served.stop()).rejects.toThrow('disk full');
    expect(processesWith(agent.word)).toEqual([]);
  });
});

describe('the agent', () => {
  test('gets the environment of the user, its own variables, an empty input and reopenable streams', async () => {
    const agent = agentOf(`
      import { readFileSync, writeFileSync } from 'node:fs';
      writeFileSync('/dev/stdout', JSON.stringify([process.env.A, process.env['b-c'], process.env.HOME, readFileSync(0, 'utf8')]) + '\\n');
      ${SERVER}`);
    const { served, logs } = await started(agent, { env: { A: '$(echo 1)', 'b-c': "it's" } });
    await served.stop();
    expect(JSON.parse(textOf(logs))).toEqual(['$(echo 1)', "it's", process.env['HOME'] ?? null, '']);
  });

  test('may flood its output: the log keeps head and tail, and says how much is missing', async () => {
    const agent = agentOf(`
      import { writeSync } from 'node:fs';
      const block = Buffer.from('flood\\n'.repeat(10_000));
      writeSync(1, 'first\\n');
      for (let n = 0; n < 400; n++) for (let at = 0; at < block.length; ) at += writeSync(1, block, at);
      writeSync(2, 'last\\n');
      ${SERVER}`);
    const { served, logs } = await started(agent);
    await served.stop();
    const [log] = logs;
    const text = textOf(logs);
    const mark = /\n\[Proctor cut (\d+) bytes here\]\n/.exec(text);
    expect(log).toMatchObject({ isCut: true, bytesTotal: 6 + 24_000_000 + 5 });
    expect(text.length - (mark?.[0].length ?? 0)).toBe(8 * 1024 * 1024);
    expect(Number(mark?.[1])).toBe(24_000_011 - 8 * 1024 * 1024);
    expect([text.startsWith('first\nflood\n'), text.endsWith('flood\nlast\n')]).toEqual([true, true]);
    expect(served.lastLines().slice(-2)).toEqual(['flood', 'last']);
  });

  test('may print a secret in pieces where the log is cut: the log never contains a part of it', async () => {
    const secret = 'hunter2-hunter2-hunter2';
    // The first mask crosses the end of the head, and the second crosses the start of the tail.
    const agent = agentOf(`
      import { writeSync } from 'node:fs';
      const MIB = 1024 * 1024;
      const all = Buffer.from(['x'.repeat(6 * MIB - 5), 'y'.repeat(MIB), 'z'.repeat(2 * MIB - 3)].join('${secret}'));
      for (let at = 0; at < all.length; ) at += writeSync(1, all, at, Math.min(1_013, all.length - at));
      ${SERVER}`);
    const { served, logs } = await started(agent, {}, { secrets: [secret] });
    await served.stop();
    const text = textOf(logs);
    expect(text.slice(6 * 1024 ** 2 - 6, -(2 * 1024 ** 2 - 4))).toBe(
      `x[mask\n[Proctor cut ${1024 ** 2 + 8} bytes here]\ned]z`,
    );
    expect(logs).toMatchObject([{ isCut: true, masked: 2 }]);
  });

  test('runs next to another agent, each on its own port', async () => {
    const [one, two] = await Promise.all([started(agentOf(SERVER)), started(agentOf(SERVER))]);
    expect(one.port).not.toBe(two.port);
    await one.served.stop();
    expect(await get(two.port, '/')).toBe('hello');
    expect([one.served.hasEnded(), two.served.hasEnded()]).toEqual([true, false]);
  });
});

describe('a port that is in use', () => {
  test('is refused, and nothing is started', async () => {
    const running = await started(agentOf(SERVER));
    const second = agentOf(SERVER);
    const { started: refused } = await tryToStart(second, {}, { port: running.port });
    await expect(refused).rejects.toMatchObject({
      code: 'agent_port_in_use',
      message: expect.stringContaining(`Port ${running.port} is already in use`),
    });
    expect(processesWith(second.word)).toEqual([]);
  });

  test('is used on request, and stop leaves the agent running', async () => {
    const running = await started(agentOf(SERVER));
    const second = agentOf(SERVER);
    const options = { port: running.port };
    const { served, logs } = await started(second, { reuse: 'if-running', ready: { path: '/', line: 'x' } }, options);
    expect(served).toMatchObject({ reused: true, pid: undefined, port: running.port });
    await served.stop();
    expect(await get(running.port, '/')).toBe('hello');
    expect([processesWith(second.word), logs]).toEqual([[], []]);
  });

  test('is not used if the server that listens there is not ready', async () => {
    const server = createServer(socket => socket.destroy()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await expect.poll(() => server.listening).toBe(true);
    const { port } = server.address() as { port: number };
    const declaration = { reuse: 'if-running', ready: { path: '/', within: 50 } } as const;
    const { started: refused } = await tryToStart(agentOf(SERVER), declaration, { port });
    await expect(refused).rejects.toMatchObject({
      code: 'agent_not_ready',
      message: 'The agent was not ready within 0.05 s: GET / got no answer.',
    });
  });
});

describe('the process that keeps the agent', () => {
  test('ends after the agent, and leaves no control group', async () => {
    const { served } = await started(agentOf(SERVER));
    const keeper = parentOf(served.pid);
    expect(groupsOf(keeper)).toEqual(groupsOf(process.pid));
    const folders = await newFolders(groupsOf(served.pid), groupsOf(keeper));
    if (version !== 'none') expect(folders.filter(existsSync).length).toBeGreaterThan(0);
    await served.stop();
    await expect.poll(() => isAlive(keeper)).toBe(false);
    expect(folders.filter(existsSync)).toEqual([]);
  });

  test('may be killed: Proctor then ends the agent and everything it started', async () => {
    const agent = agentOf(`spawn('/usr/bin/setsid', asleep, { stdio: 'ignore' }); console.log('up'); ${SERVER}`);
    const { served, logs } = await started(agent, { ready: { line: 'up' } });
    await expect.poll(() => served.lastLines()).toEqual(['up']);
    process.kill(parentOf(served.pid), 'SIGKILL');
    expect(await served.exited).toEqual({ code: null, signal: null });
    await allGone(agent.word);
    await served.stop();
    expect(logs).toMatchObject([{ bytesTotal: null, isCut: true }]);
    expect(textOf(logs)).toMatch(/^\[Proctor lost the output[^\n]*\]\nup\n$/);
  });
});

const groupsOf = (pid = 0): string[] => readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n');

/** The folders of the groups that are only in the first list. */
async function newFolders(groups: readonly string[], others: readonly string[]): Promise<string[]> {
  const { v1, v2 } = await cgroupMounts();
  const mounts = [...Object.values(v1), ...(v2 ? [v2] : [])].map(({ folder }) => folder);
  const names = groups.filter(group => !others.includes(group)).map(group => group.replace(/^\d+:[^:]*:/, ''));
  return mounts.flatMap(mount => names.map(name => path.join(mount, name)));
}
