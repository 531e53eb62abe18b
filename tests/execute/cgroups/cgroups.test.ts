import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Cgroup, findCgroups, removeCgroups } from '../../../src/execute/cgroups/cgroups.ts';
import { ControlGroup } from '../../../src/execute/cgroups/group.ts';
import { type CgroupMounts, cgroupMounts, parseMounts } from '../../../src/execute/cgroups/mounts.ts';
import { findParent } from '../../../src/execute/cgroups/v2.ts';
import { isAlive } from '../../../src/execute/host/processes.ts';
import { ROOT, temporaryFolder } from '../../support/support.ts';

const MB = 1024 * 1024;
const PATIENT = { timeout: 30_000, interval: 5 };
const here = await findCgroups();
const mounts = await cgroupMounts();

let groups = 0;

async function newGroup(cgroups = here): Promise<Cgroup> {
  const group = await cgroups.open(`test-${process.pid}-${++groups}`);
  onTestFinished(async () => {
    await group.kill();
    await group.close();
  });
  return group;
}

/** Starts a shell, moves it into a group, and then runs a script in it. */
async function inGroup(group: Cgroup, script: string): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', `read -r go; ${script}`], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await group.join(child.pid as number);
  child.stdin?.end('go\n');
  return child;
}

async function endOf(child: ChildProcess): Promise<{ code: number | null; stdout: string }> {
  const [stdout, [code]] = await Promise.all([text(child.stdout as NodeJS.ReadableStream), once(child, 'close')]);
  return { code: code as number | null, stdout };
}

const inPython = (code: string): string => `/usr/bin/python3 -I -S -c '${code}'`;

describe.runIf(here.version !== 'none')('a control group', () => {
  test('has the limits that were set', async () => {
    const group = await newGroup();
    await group.limit({ memoryBytes: 32 * MB + 1, pids: 12 });
    const values = group.folders.flatMap(folder =>
      ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes', 'memory.max', 'pids.max']
        .map(name => path.join(folder, name))
        .filter(existsSync)
        .map(file => readFileSync(file, 'utf8').trim()),
    );
    expect(new Set(values)).toEqual(new Set([String(32 * MB), '12']));
  });

  test.runIf(here.dividesCpus)('limits the CPUs of its processes, and leaves nothing behind', async () => {
    const group = await newGroup();
    const child = await inGroup(group, 'exec sleep 60');
    await group.limit({ cpus: 0.5 });
    const values = group.folders.flatMap(folder =>
      ['cpu.cfs_quota_us', 'cpu.max']
        .map(name => path.join(folder, name))
        .filter(existsSync)
        .map(file => readFileSync(file, 'utf8').trim()),
    );
    expect(['50000', '50000 100000']).toContain(values[0]);
    expect(await group.processes()).toEqual([child.pid]);
    child.kill('SIGKILL');
    await group.kill();
    await group.close();
    expect(group.folders.filter(existsSync)).toEqual([]);
  });

  test.runIf(here.version === 'v1' && here.countsSockets)('limits socket buffers separately from memory', async () => {
    const group = await newGroup();
    await group.limit({ memoryBytes: 32 * MB, socketBytes: 2 * MB });
    const files = group.folders.map(folder => path.join(folder, 'memory.kmem.tcp.limit_in_bytes')).filter(existsSync);
    expect(files.map(file => readFileSync(file, 'utf8').trim())).toEqual([String(2 * MB)]);
    expect(await group.socketBytes()).toBe(0);
  });

  test('fails if the kernel does not accept a limit', async () => {
    const group = await newGroup();
    await expect(group.limit({ pids: -1 })).rejects.toMatchObject({ code: 'limits_not_enforced' });
    await expect(group.limit({ memoryBytes: -1 })).rejects.toMatchObject({ code: 'limits_not_enforced' });
  });

  test.runIf(here.version === 'v1')('counts an OOM kill that the exit code hides', async () => {
    const group = await newGroup();
    await group.limit({ memoryBytes: 32 * MB });
    const child = await inGroup(group, `sh -c "$(echo "${inPython('bytearray(200 << 20)')}")"; exit 0`);
    expect(await endOf(child)).toMatchObject({ code: 0 });
    const { oomKills, memoryPeakBytes } = await group.counters();
    expect(oomKills).toBe(1);
    expect(memoryPeakBytes).toBeGreaterThan(16 * MB);
    expect(memoryPeakBytes).toBeLessThanOrEqual(32 * MB);
  });

  test('counts no OOM kill when a large file is written', async () => {
    const group = await newGroup();
    await group.limit({ memoryBytes: 32 * MB });
    const file = path.join(temporaryFolder(), 'large');
    // Syncs each part before the next: version 1 may kill a process because of data that a slow disk has not written
    // yet.
    await endOf(await inGroup(group, `dd if=/dev/zero of='${file}' bs=1M count=100 oflag=dsync 2>/dev/null`));
    expect(statSync(file).size).toBe(100 * MB);
    const { oomKills, memoryPeakBytes } = await group.counters();
    expect(oomKills).toBe(0);
    if (memoryPeakBytes !== undefined) expect(memoryPeakBytes).toBeGreaterThan(31 * MB);
  });

  test('refuses one process too many, and counts it', async () => {
    const group = await newGroup();
    await group.limit({ pids: 8 });
    const forks =
      'import os, time\ntry:\n  for n in range(50):\n    if os.fork() == 0: time.sleep(60)\nexcept OSError as e: print(n, e.errno)';
    const child = await inGroup(group, `exec ${inPython(forks)}`);
    child.stdout?.setEncoding('utf8');
    expect(await once(child.stdout as NodeJS.ReadableStream, 'data')).toEqual(['7 11\n']);
    expect((await group.counters()).forksDenied).toBe(1);
    await group.kill();
    expect(await group.processes()).toEqual([]);
  });

  test('counts the CPU time of children and grandchildren', async () => {
    const group = await newGroup();
    const spin = inPython('import time\nwhile time.process_time() < 0.15: pass');
    await endOf(await inGroup(group, `(${spin} & wait) & ${spin}; wait`));
    const { cpuMs } = await group.counters();
    expect(cpuMs).toBeGreaterThanOrEqual(300);
  });

  test('kills processes that left the session, lost their parents and ignore every signal', async () => {
    const group = await newGroup();
    const child = await inGroup(group, STRAYS);
    const { code, stdout } = await endOf(child);
    expect(code).toBe(0);
    const strays = stdout
      .trim()
      .split('\n')
      .map(Number)
      .sort((a, b) => a - b);
    expect(strays).toHaveLength(3);
    expect(await group.processes()).toEqual(strays);
    await group.kill();
    expect(strays.filter(isAlive)).toEqual([]);
    expect(await group.processes()).toEqual([]);
  });

  test('kills a fork bomb', async () => {
    const group = await newGroup();
    await group.limit({ pids: 40 });
    await inGroup(group, BOMB);
    await expect.poll(async () => (await group.counters()).forksDenied, PATIENT).toBeGreaterThan(0);
    await group.kill();
    expect(await group.processes()).toEqual([]);
  });

  test('leaves no folder behind, and closes only if it is empty', async () => {
    const group = await here.open(`test-${process.pid}-${++groups}`);
    const child = await inGroup(group, 'exec sleep 60');
    await expect(group.close()).rejects.toMatchObject({ code: 'cgroup_left' });
    expect(group.folders.some(existsSync)).toBe(true);
    expect(await group.processes()).toEqual([child.pid]);
    await group.kill();
    await group.close();
    await group.close();
    expect(group.folders.filter(existsSync)).toEqual([]);
    await expect(group.counters()).rejects.toMatchObject({ code: 'counters_unreadable' });
  });

  test('does not affect other groups', async () => {
    const [one, other] = [await newGroup(), await newGroup()];
    await one.limit({ memoryBytes: 32 * MB, pids: 8 });
    await other.limit({ memoryBytes: 32 * MB, pids: 8 });
    const still = await inGroup(other, 'exec sleep 60');
    await endOf(await inGroup(one, `${inPython('bytearray(200 << 20)')}; ${inPython('while True: break')}; exit 0`));
    expect((await one.counters()).oomKills).toBeGreaterThan(0);
    expect(await other.counters()).toMatchObject({ oomKills: 0, forksDenied: 0 });
    await one.kill();
    expect(await other.processes()).toEqual([still.pid]);
  });

  test('starts its counters at 0 if the name is reused', async () => {
    const name = `test-${process.pid}-${++groups}`;
    const old = await here.open(name);
    await old.limit({ pids: 2 });
    await endOf(await inGroup(old, '(: & :) & wait; true'));
    expect((await old.counters()).forksDenied).toBeGreaterThan(0);
    const fresh = await here.open(name);
    onTestFinished(() => fresh.close());
    expect((await fresh.counters()).forksDenied).toBe(0);
  });

  test('does not accept a dead process', async () => {
    const group = await newGroup();
    const child = spawn('/bin/true');
    await once(child, 'exit');
    await expect(group.join(child.pid as number)).rejects.toMatchObject({ code: 'process_gone' });
  });

  test('accepts only safe names', async () => {
    for (const name of ['', '../x', 'a/b', 'self', 'a b']) await expect(here.open(name)).rejects.toThrow();
  });
});

describe.runIf(here.version === 'v1')('control groups of version 1', () => {
  test.runIf(mounts.v2)('kill and count CPU time through version 2 if that is also mounted', async () => {
    const { memory, pids } = mounts.v1;
    const cgroups = await findCgroups({
      mounts: { ...mounts, v1: { ...(memory && { memory }), ...(pids && { pids }) } },
    });
    expect(cgroups.version).toBe('v1');
    const group = await newGroup(cgroups);
    const unified = group.folders.find(folder => existsSync(path.join(folder, 'cgroup.kill'))) as string;
    const populated = (): string => readFileSync(path.join(unified, 'cgroup.events'), 'utf8').split('\n')[0] as string;
    const child = await inGroup(group, `${inPython('import time\nwhile time.process_time() < 0.1: pass')}; ${STRAYS}`);
    await endOf(child);
    expect(populated()).toBe('populated 1');
    await group.kill();
    expect(populated()).toBe('populated 0');
    expect((await group.counters()).cpuMs).toBeGreaterThanOrEqual(100);
  });

  test('work without version 2', async () => {
    const cgroups = await findCgroups({ mounts: { v1: mounts.v1 } });
    expect(cgroups).toMatchObject({ version: 'v1', reason: expect.stringMatching(/^[A-Z].*\.$/) });
    const group = await newGroup(cgroups);
    await group.limit({ pids: 40 });
    const strays = await inGroup(group, STRAYS);
    await endOf(strays);
    await inGroup(group, BOMB);
    await expect.poll(async () => (await group.counters()).forksDenied, PATIENT).toBeGreaterThan(0);
    await group.kill();
    expect(await group.processes()).toEqual([]);
  });
});

describe('groups that a dead process left behind', () => {
  test.runIf(here.version !== 'none')('are emptied and removed', async () => {
    const group = await here.open(`test-${process.pid}-${++groups}`);
    await endOf(await inGroup(group, STRAYS));
    const strays = await group.processes();
    await removeCgroups(group.folders);
    expect(group.folders.filter(existsSync)).toEqual([]);
    expect(strays.filter(isAlive)).toEqual([]);
  });

  test("are touched only if they are control groups with Proctor's prefix", async () => {
    const folder = path.join(temporaryFolder(), 'proctor-run');
    mkdirSync(folder);
    const sleeper = spawn('/bin/sleep', ['60']);
    onTestFinished(() => void sleeper.kill('SIGKILL'));
    writeFileSync(path.join(folder, 'cgroup.procs'), `${sleeper.pid}\n`);
    await removeCgroups([
      folder,
      '',
      'proctor-run',
      '/proc',
      '/nowhere/proctor-run',
      ...Object.values(mounts.v1).map(({ folder }) => folder),
    ]);
    expect(isAlive(sleeper.pid as number)).toBe(true);
    expect(existsSync(path.join(folder, 'cgroup.procs'))).toBe(true);
  });

  test.runIf(here.version === 'v1')('are left alone if they contain this process', async () => {
    const group = await here.open(`test-${process.pid}-${++groups}`);
    const before = group.folders.map(folder => path.dirname(folder));
    await group.join(process.pid);
    try {
      await removeCgroups(group.folders);
      expect(group.folders.filter(existsSync)).toEqual(group.folders);
    } finally {
      for (const folder of before) writeFileSync(path.join(folder, 'cgroup.procs'), String(process.pid));
    }
    await group.close();
  });
});

describe('a machine without usable groups', () => {
  test('reports the reason, and opens no group', async () => {
    const none = await findCgroups({ mounts: { v1: {} } });
    expect(none).toMatchObject({ version: 'none', reason: expect.stringMatching(/^[^/]+\.$/) });
    await expect(none.open('x')).rejects.toMatchObject({ code: 'cgroups_unavailable', message: none.reason });
  });

  test.runIf(process.geteuid?.() === 0)('gives an unprivileged user no groups', () => {
    const script = `
      const { findCgroups } = await import(process.argv[1]);
      const { version, reason } = await findCgroups();
      process.stdout.write(JSON.stringify({ version, reason }));`;
    const bundle = path.join(temporaryFolder(), 'cgroup.mjs');
    execFileSync(
      path.join(ROOT, 'node_modules/.bin/esbuild'),
      [
        ...[
          'src/execute/cgroups/cgroups.ts',
          '--bundle',
          '--platform=node',
          '--format=esm',
          `--outfile=${bundle}`,
          '--log-level=error',
        ],
      ],
      { cwd: ROOT },
    );
    execFileSync('/bin/chmod', ['-R', 'a+rX', path.dirname(bundle)]);
    const stdout = execFileSync(process.execPath, ['--input-type=module', '-e', script, bundle], {
      ...{ uid: 65_534, gid: 65_534, cwd: '/', env: {}, encoding: 'utf8' },
    });
    expect(JSON.parse(stdout)).toEqual({
      version: 'none',
      reason: 'This user is not permitted to create control groups.',
    });
  });
});

describe('the mounts', () => {
  test('are found for version 2 in a user session', () => {
    const mounts = parseMounts(
      '24 23 0:22 / /proc rw shared:5 - proc proc rw\n30 23 0:26 / /proc/self rw shared:9 - cgroup2 cgroup2 rw,nsdelegate',
      '0::/task\n',
    );
    expect(mounts).toEqual({ v1: {}, v2: { folder: '/proc/self', own: '/proc/self/task' } });
  });

  test('are found for version 1, even if controllers share a folder, its name has a space, or this process is outside', () => {
    const folder = path.join(temporaryFolder(), 'a b');
    mkdirSync(path.join(folder, 'inner'), { recursive: true });
    const line = (options: string, root: string): string =>
      `31 23 0:28 ${root} ${folder.replace(' ', '\\040')} rw - cgroup cgroup rw,${options}`;
    const own = '5:cpu,cpuacct:/docker/1/inner\n4:memory:/elsewhere\n3:pids:/../..\n1:name=systemd:/\n';
    expect(
      parseMounts([line('cpu,cpuacct', '/docker/1'), line('memory', '/'), line('pids', '/')].join('\n'), own),
    ).toEqual({
      v1: {
        cpu: { folder, own: path.join(folder, 'inner') },
        cpuacct: { folder, own: path.join(folder, 'inner') },
        memory: { folder, own: folder },
        pids: { folder, own: folder },
      },
    } satisfies CgroupMounts);
  });

  test('are empty on other systems', () => {
    expect(parseMounts('', '')).toEqual({ v1: {} });
  });
});

/** Version 2 needs controllers that may be in use elsewhere, so these tests imitate its files. */
describe('version 2', () => {
  /** A group with the kernel's files. */
  function imitated(folder: string, files: Record<string, string> = {}): string {
    mkdirSync(folder, { recursive: true });
    const usual = {
      'cgroup.controllers': 'cpu memory pids\n',
      'cgroup.subtree_control': '\n',
      'cgroup.procs': '',
      'cgroup.type': 'domain\n',
    };
    for (const [name, content] of Object.entries({ ...usual, ...files }))
      writeFileSync(path.join(folder, name), content);
    return folder;
  }
  const contentOf = (folder: string, name: string): string => readFileSync(path.join(folder, name), 'utf8');

  test('limits memory and processes, and disables swap', async () => {
    const files = { 'memory.max': 'max\n', 'memory.swap.max': 'max\n', 'pids.max': 'max\n' };
    const folder = imitated(path.join(temporaryFolder(), 'g'), files);
    const group = new ControlGroup('v2', { memory: folder, pids: folder, unified: folder });
    expect(group.folders).toEqual([folder]);
    await group.limit({ memoryBytes: 50 * MB, pids: 20 });
    expect(Object.keys(files).map(name => contentOf(folder, name))).toEqual([String(50 * MB), '0', '20']);
    await group.join(123);
    expect(contentOf(folder, 'cgroup.procs')).toBe('123');
  });

  test('limits CPUs', async () => {
    const folder = imitated(path.join(temporaryFolder(), 'g'), { 'cpu.max': 'max 100000\n' });
    const group = new ControlGroup('v2', { memory: folder, pids: folder, unified: folder, cpu: folder });
    await group.limit({ cpus: 1.5 });
    expect(contentOf(folder, 'cpu.max')).toBe('150000 100000');
    expect(await group.socketBytes()).toBe(0);
  });

  test('fails to set a limit without its controllers', async () => {
    const folder = imitated(path.join(temporaryFolder(), 'g'));
    const group = new ControlGroup('v2', { memory: folder, pids: folder, unified: folder });
    await expect(group.limit({ memoryBytes: 50 * MB })).rejects.toMatchObject({ code: 'limits_not_enforced' });
    await expect(group.limit({ pids: 5 })).rejects.toMatchObject({ code: 'limits_not_enforced' });
    await expect(group.counters()).rejects.toMatchObject({ code: 'counters_unreadable' });
  });

  test('reads its counters', async () => {
    const folder = imitated(path.join(temporaryFolder(), 'g'), {
      'memory.events': 'low 0\nhigh 0\nmax 35\noom 1\noom_kill 4\noom_group_kill 1\n',
      'memory.peak': '20971520\n',
      'pids.events': 'max 3\n',
      'cpu.stat': 'usage_usec 123456\nuser_usec 100000\nsystem_usec 23456\n',
    });
    const group = new ControlGroup('v2', { memory: folder, pids: folder, unified: folder });
    expect(await group.counters()).toEqual({ oomKills: 4, memoryPeakBytes: 20_971_520, forksDenied: 3, cpuMs: 123 });
  });

  test('gives root a group at the top', async () => {
    const folder = imitated(temporaryFolder(), { 'cgroup.procs': '1\n2\n' });
    imitated(path.join(folder, 'proctor'));
    expect(await findParent({ folder, own: folder }, true)).toEqual({ parent: path.join(folder, 'proctor') });
    for (const group of [folder, path.join(folder, 'proctor')]) {
      expect(contentOf(group, 'cgroup.subtree_control')).toBe('+memory +pids +cpu');
    }
  });

  test('lets a user create child groups in a group that only contains this process', async () => {
    const folder = imitated(temporaryFolder());
    const sleeper = spawn('/bin/sleep', ['60']);
    onTestFinished(() => void sleeper.kill('SIGKILL'));
    const own = imitated(path.join(folder, 'app.slice/run.scope'), {
      'cgroup.procs': `${process.pid}\n${sleeper.pid}\n`,
    });
    const leaf = imitated(path.join(own, 'proctor-self'));
    expect(await findParent({ folder, own }, false)).toEqual({ parent: own });
    expect(contentOf(leaf, 'cgroup.procs')).toBe(String(sleeper.pid));
    expect(contentOf(own, 'cgroup.subtree_control')).toBe('+memory +pids +cpu');
    // Now this process is in that leaf, and its parent is ready.
    expect(await findParent({ folder, own: leaf }, false)).toEqual({ parent: own });
  });

  test('uses an empty ancestor if the group is shared', async () => {
    const folder = imitated(temporaryFolder());
    const slice = imitated(path.join(folder, 'app.slice'), { 'cgroup.subtree_control': 'memory pids\n' });
    const own = imitated(path.join(slice, 'terminal.scope'), { 'cgroup.procs': `1\n${process.pid}\n` });
    expect(await findParent({ folder, own }, false)).toEqual({ parent: slice });
    expect(contentOf(own, 'cgroup.subtree_control')).toBe('\n');
  });

  test('gives up if every group is shared or lacks controllers, and reports why', async () => {
    const folder = imitated(temporaryFolder(), { 'cgroup.procs': '1\n' });
    expect(await findParent({ folder, own: folder }, false)).toEqual({
      reason: expect.stringContaining('unrelated processes'),
    });
    const bare = imitated(temporaryFolder(), { 'cgroup.controllers': 'hugetlb\n' });
    expect(await findParent({ folder: bare, own: bare }, true)).toEqual({
      reason: expect.stringContaining('no memory and pids controllers'),
    });
  });
});

/** Starts three orphaned processes, each in its own session, that ignore every signal. Prints their pids. */
const STRAYS = inPython(
  [
    'import os, signal, time',
    'for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)',
    'for n in range(3):',
    '  r, w = os.pipe()',
    '  if os.fork() == 0:',
    '    os.setsid()',
    '    if os.fork() != 0: os._exit(0)',
    '    print(os.getpid(), flush=True); os.close(1); os.close(w); time.sleep(60)',
    '  os.close(w); os.read(r, 1); os.wait()',
  ].join('\n'),
);

const BOMB = 'bomb() { bomb | bomb & bomb; }; bomb 2>/dev/null';
