import { setTimeout as wait } from 'node:timers/promises';
import { removeCgroups } from '../cgroups/cgroups.ts';
import { processesInGroups } from '../cgroups/folders.ts';
import { descendantsOf, isAlive, processesInGroup, processesMarked, signal, startTicksOf } from '../host/processes.ts';

/** How any process of this user can find a program and everything it started. */
export interface TreeId {
  /** The program. It leads its own session and process group. */
  readonly pid: number;
  readonly startTicks: number;
  /** A variable in the environment of the program, which its descendants inherit. */
  readonly marker: string;
  /** The folders of its control group. Empty on machines that allow none. */
  readonly cgroups: readonly string[];
}

/**
 * A program and everything it started.
 *
 * With a control group (root, or a user with delegated groups), `kill` ends every process, because none can leave the
 * group. Otherwise, `kill` ends the process group, every process with the marker in its environment, and every process
 * that descended from the program when `remember` was last called. A process then escapes only if it leaves the group,
 * clears its environment and loses its parent. A process that became another user cannot be killed by an ordinary user.
 */
export class ProcessTree {
  readonly #id: TreeId;
  /** Descendants seen so far, with their start times, because the kernel reuses pids. */
  readonly #seen = new Map<number, number | undefined>();

  constructor(id: TreeId) {
    this.#id = id;
  }

  /** Finds the descendants of the program. Once their parents end, they can no longer be found this way. */
  remember(): void {
    const { pid, startTicks } = this.#id;
    const roots = startTicksOf(pid) === startTicks ? [pid, ...this.#known()] : this.#known();
    for (const found of roots.flatMap(descendantsOf)) {
      if (this.#seen.size < SEEN_MAX) this.#seen.set(found, startTicksOf(found));
    }
  }

  signalGroup(name: NodeJS.Signals): void {
    if (this.#ownsGroup()) signal(-this.#id.pid, name);
  }

  isGroupAlive(): boolean {
    return this.#group().some(isAlive);
  }

  /** Ends every process with SIGKILL. Returns how many could not be ended. */
  async kill(): Promise<number> {
    this.remember();
    // Also removes the groups, except one that contains this process.
    await removeCgroups(this.#id.cgroups);
    let left: number[] = [];
    for (let round = 0; round < ROUNDS_MAX; round++) {
      left = await this.#alive();
      if (left.length === 0) break;
      this.signalGroup('SIGKILL');
      for (const pid of left) signal(pid, 'SIGKILL');
      await wait(Math.min(2 ** round, PAUSE_MS_MAX));
      this.remember();
    }
    return left.length;
  }

  async #alive(): Promise<number[]> {
    const found = new Set([
      ...this.#group(),
      ...processesMarked(this.#id.marker),
      ...this.#known(),
      ...(await processesInGroups(this.#id.cgroups)),
    ]);
    found.delete(process.pid);
    return [...found].filter(isAlive);
  }

  #known(): number[] {
    return [...this.#seen]
      .filter(([pid, ticks]) => ticks !== undefined && startTicksOf(pid) === ticks)
      .map(([pid]) => pid);
  }

  #group(): number[] {
    return this.#ownsGroup() ? processesInGroup(this.#id.pid) : [];
  }

  /** The kernel reuses the number of a group only after its last process has ended, and first for a new leader. */
  #ownsGroup(): boolean {
    const ticks = startTicksOf(this.#id.pid);
    return ticks === undefined || ticks === this.#id.startTicks;
  }
}

const SEEN_MAX = 10_000;
/** About three seconds. */
const ROUNDS_MAX = 64;
const PAUSE_MS_MAX = 50;
