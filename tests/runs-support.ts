import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, type TestContext } from 'vitest';
import { isAlive } from '../src/execute/processes.ts';
import { DISK } from '../src/execute/sandboxes/holder.ts';
import { takeOwnLock } from '../src/execute/locks.ts';
import { SLOTS, takeSlot } from '../src/execute/slots.ts';
import { proctor, type Ran, ROOT, unhurried } from './support.ts';

/** A place of its own to run scripts and intents in, with its own folder for temporary files, so that whatever is left is seen. */
export class Place {
  readonly #root = mkdtempSync(path.join(tmpdir(), 'proctor-place-'));
  readonly cwd = path.join(this.#root, 'cwd');
  readonly temp = path.join(this.#root, 'temp');

  constructor() {
    // A sandbox started by root is another user, who must get to its files.
    chmodSync(this.#root, 0o755);
    mkdirSync(this.cwd);
    mkdirSync(this.temp, { mode: 0o777 });
    chmodSync(this.temp, 0o777);
  }

  file(name: string, content: string | Uint8Array, mode = 0o644): string {
    const file = path.join(this.cwd, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    chmodSync(file, mode);
    return file;
  }

  /** Runs the built command line here, to its end. */
  proctor(args: readonly string[], options: Parameters<typeof proctor>[1] = {}): Ran {
    return proctor(args, { cwd: this.cwd, ...options, env: { TMPDIR: this.temp, ...options.env } });
  }

  /** The same, beside others. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
    return new Started(
      spawn(process.execPath, [path.join(ROOT, 'dist', 'proctor.js'), ...args], {
        cwd: this.cwd,
        env: { ...process.env, NO_COLOR: '1', npm_lifecycle_event: '', TMPDIR: this.temp, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  }

  runFolders(): string[] {
    return ['script', 'intent', 'agent'].flatMap(lane => {
      const root = path.join(this.cwd, '.proctor', 'runs', lane);
      return existsSync(root) ? readdirSync(root).map(id => path.join(root, id)) : [];
    });
  }

  /** Every run folder is valid evidence of a run that has ended, and nothing lies beside them. */
  expectClean(): void {
    const folders = this.runFolders();
    expect(folders.filter(folder => existsSync(path.join(folder, 'journal.ndjson')))).toEqual([]);
    if (folders.length > 0) {
      const { code, stdout, stderr } = this.proctor(['verify', ...folders]);
      expect(code, stdout + stderr).toBe(0);
    }
    expect(readdirSync(this.temp), 'left in the folder for temporary files').toEqual([]);
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** A place whose runs must all verify when the test is over. */
export function place(): Place {
  const place = new Place();
  onTestFinished(() => place.remove());
  onTestFinished(() => place.expectClean());
  return place;
}

/** A command that is under way. */
export class Started {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ran & { readonly signal: NodeJS.Signals | null }>;
  stdout = '';
  stderr = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) =>
        resolve({ code, signal, stdout: this.stdout, stderr: unhurried(this.stderr) }),
      );
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The process that starts programs for it. */
  launcher(): number | undefined {
    return processes().find(({ ppid, argv }) => ppid === this.pid && argv.some(word => word.endsWith('launcher.js')))
      ?.pid;
  }
}

interface Process {
  readonly pid: number;
  readonly ppid: number;
  readonly argv: readonly string[];
}

/** All processes of this machine that are alive. */
function processes(): Process[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const ppid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        const argv = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').slice(0, -1);
        return isAlive(Number(name)) ? [{ pid: Number(name), ppid, argv }] : [];
      } catch {
        return [];
      }
    });
}

export const processesOf = (parent: number): Process[] => processes().filter(({ ppid }) => ppid === parent);

export const processesWith = (word: string): Process[] => processes().filter(({ argv }) => argv.includes(word));

/** Kills a process; false where it was gone already, which nobody can know before. */
export function endProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

/** Waits for something that must come true. */
export async function until(what: string, isTrue: () => boolean, timeoutMs = 60_000): Promise<void> {
  for (let waitedMs = 0; !isTrue(); waitedMs += 10) {
    if (waitedMs > timeoutMs) throw new Error(`It never came true that ${what}`);
    await pause(10);
  }
}

/** Gives a place a home on a disk of its own with so little room, until it may grow. */
export function smallHome(context: TestContext, { cwd }: Place, kib: number): { grow(): void } {
  context.skip(process.getuid?.() !== 0, 'only root can make a small disk');
  const home = path.join(cwd, '.proctor');
  mkdirSync(home, { mode: 0o755 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k,mode=755`, 'tmpfs', home]);
  onTestFinished(() => void execFileSync('umount', [home]));
  return { grow: () => void execFileSync('mount', ['-o', 'remount,size=64m', home]) };
}

/**
 * Waits, and lets the event loop look at signals and streams. Timers alone starve them: while a look at all processes takes
 * longer than the pause, the next timer is always due, and the end of a child is never seen.
 */
export async function pause(ms: number): Promise<void> {
  await wait(ms);
  await setImmediate();
}

/** Takes every place for runs on this machine, until they are freed. Two at a time would wait for each other for ever. */
export async function takeAllPlaces(): Promise<() => void> {
  let turn = takeOwnLock('all-places');
  for (; turn === undefined; turn = takeOwnLock('all-places')) await wait(50);
  const held = await Promise.all(Array.from({ length: SLOTS }, () => takeSlot()));
  return () => {
    for (const free of held) free();
    turn.close();
  };
}

/** The control groups of ours on this machine, by which one sees what a run has left. */
export function cgroupsOfOurs(): string[] {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .filter(line => /^\S+ \S+ cgroup2? /.test(line))
    .flatMap(line => groupsBelow(line.split(' ')[1] ?? '', 4));
}

function groupsBelow(folder: string, depth: number): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .flatMap(({ name }) => {
        const child = path.join(folder, name);
        const below = depth > 1 ? groupsBelow(child, depth - 1) : [];
        return name.startsWith('proctor-') && name !== 'proctor-self' ? [child].concat(below) : below;
      });
  } catch {
    return [];
  }
}

/** Control groups that were made since, and whose launcher is dead. Others on this machine make some, too. */
export function groupsLeft(before: ReadonlySet<string>): string[] {
  return cgroupsOfOurs().filter(group => {
    const [, launcher] = /proctor-(?:probe-)?\d+\.(\d+)\.\d+-/.exec(path.basename(group)) ?? [];
    return !before.has(group) && launcher !== undefined && !isAlive(Number(launcher));
  });
}

/** What is mounted where a sandbox mounts something. Others on this machine mount and unmount as they like. */
export function mountsOfOurs(): string[] {
  const places = new Set([DISK, `${DISK}/tmp`, '/proc', '/work', '/agent', '/opt/proctor', '/newroot', '/oldroot']);
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter(line => {
      const [, target = ''] = line.split(' ');
      return places.has(target) || target.includes('/proctor-stage-');
    });
}

/** What a run folder says of its end. */
export function outcomeIn(folder: string): { status: string; reason: string | null; ending: { how: string } } {
  return JSON.parse(readFileSync(path.join(folder, 'evidence', 'outcome.json'), 'utf8')) as never;
}
