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
import { isAlive } from '../../src/execute/host/processes.ts';
import { DISK } from '../../src/execute/sandboxes/holder.ts';
import { takeOwnLock } from '../../src/execute/host/locks.ts';
import { SLOTS, takeSlot } from '../../src/execute/host/slots.ts';
import { proctor, type Ran, ROOT, unhurried } from './support.ts';

/** A project with a private folder for temporary files, so that leftovers are visible. */
export class Place {
  readonly #root = mkdtempSync(path.join(tmpdir(), 'proctor-place-'));
  readonly cwd = path.join(this.#root, 'cwd');
  readonly temp = path.join(this.#root, 'temp');

  constructor() {
    // A sandbox started by root runs as another user, who needs access to the files.
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

  /** Runs the built command line here, synchronously. */
  proctor(args: readonly string[], options: Parameters<typeof proctor>[1] = {}): Ran {
    return proctor(args, { cwd: this.cwd, ...options, env: { TMPDIR: this.temp, ...options.env } });
  }

  /** The same, asynchronously. */
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

  /** Expects every run folder to be valid evidence of an ended run, and no other files. */
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

/** A project whose runs must all verify after the test. */
export function place(): Place {
  const place = new Place();
  onTestFinished(() => place.remove());
  onTestFinished(() => place.expectClean());
  return place;
}

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

  /** Its launcher process. */
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

/** All live processes of this machine. */
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

/** Kills a process; returns false if it had already ended. */
export function endProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

export async function until(what: string, isTrue: () => boolean, timeoutMs = 60_000): Promise<void> {
  for (let waitedMs = 0; !isTrue(); waitedMs += 10) {
    if (waitedMs > timeoutMs) throw new Error(`Timed out before ${what}`);
    await pause(10);
  }
}

/** Puts .proctor on a small disk, which `grow` enlarges. */
export function smallHome(context: TestContext, { cwd }: Place, kib: number): { grow(): void } {
  context.skip(process.getuid?.() !== 0, 'only root can make a small disk');
  const home = path.join(cwd, '.proctor');
  mkdirSync(home, { mode: 0o755 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k,mode=755`, 'tmpfs', home]);
  onTestFinished(() => void execFileSync('umount', ['-l', home]));
  return { grow: () => void execFileSync('mount', ['-o', 'remount,size=64m', home]) };
}

/**
 * Pauses and lets the event loop process signals and streams. Timers alone starve them when listing all processes takes
 * longer than the pause.
 */
export async function pause(ms: number): Promise<void> {
  await wait(ms);
  await setImmediate();
}

/** Takes every slot on this machine until they are released. Callers take turns, because two at once would deadlock. */
export async function takeAllPlaces(): Promise<() => void> {
  let turn = takeOwnLock('all-places');
  for (; turn === undefined; turn = takeOwnLock('all-places')) await wait(50);
  const held = await Promise.all(Array.from({ length: SLOTS }, () => takeSlot()));
  return () => {
    for (const free of held) free();
    turn.close();
  };
}

/** Proctor's control groups on this machine. */
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

/** New control groups whose launcher is dead. Other processes on this machine also create some. */
export function groupsLeft(before: ReadonlySet<string>): string[] {
  return cgroupsOfOurs().filter(group => {
    const [, launcher] = /proctor-(?:probe-)?\d+\.(\d+)\.\d+-/.exec(path.basename(group)) ?? [];
    return !before.has(group) && launcher !== undefined && !isAlive(Number(launcher));
  });
}

/** Mounts at the mount points of a sandbox. Other processes on this machine also mount there. */
export function mountsOfOurs(): string[] {
  const places = new Set([DISK, `${DISK}/tmp`, '/proc', '/work', '/agent', '/opt/proctor', '/newroot', '/oldroot']);
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter(line => {
      const [, target = ''] = line.split(' ');
      return places.has(target) || target.includes('/proctor-stage-');
    });
}

/** The outcome in a run folder. */
export function outcomeIn(folder: string): { status: string; reason: string | null; ending: { how: string } } {
  return JSON.parse(readFileSync(path.join(folder, 'evidence', 'outcome.json'), 'utf8')) as never;
}
