import type { ProcessTimes } from './proc-files.ts';

/**
 * The CPU time of a group of processes, from samples of live processes. When a parent waits for a child, the kernel
 * adds the child's time to the parent's. The time of other children is lost when they end, so their last sample is
 * added here.
 */
export class CpuTally {
  #last: readonly ProcessTimes[] = [];
  #lostTicks = 0;

  /** All ticks so far. Misses a process that starts and ends between two samples and that no parent waits for. */
  add(now: readonly ProcessTimes[]): number {
    this.#lostTicks += lostBetween(this.#last, now);
    this.#last = now;
    return this.#lostTicks + now.reduce((sum, each) => sum + totalOf(each), 0);
  }
}

/** A lower bound on the time lost: a parent may also have inherited from other children. */
function lostBetween(before: readonly ProcessTimes[], now: readonly ProcessTimes[]): number {
  const known = new Map(before.map(each => [each.pid, each]));
  const alive = new Map(now.map(each => [each.pid, each]));
  const owed = new Map<number, number>();
  let orphaned = 0;
  for (const dead of before.filter(each => !isSame(each, alive.get(each.pid)))) {
    const parent = known.get(dead.parent);
    if (parent && isSame(parent, alive.get(parent.pid))) {
      owed.set(parent.pid, (owed.get(parent.pid) ?? 0) + totalOf(dead));
    } else orphaned += totalOf(dead);
  }
  let lost = 0;
  let inherited = 0;
  for (const each of now) {
    const earlier = known.get(each.pid);
    const gained = each.childTicks - (earlier && isSame(earlier, each) ? earlier.childTicks : 0);
    const due = owed.get(each.pid) ?? 0;
    lost += Math.max(0, due - gained);
    inherited += Math.max(0, gained - due);
  }
  // If the parent has ended too, that parent or pid 1 has waited for the process.
  return lost + Math.max(0, orphaned - inherited);
}

const totalOf = ({ ownTicks, childTicks }: ProcessTimes): number => ownTicks + childTicks;

const isSame = (one: ProcessTimes, other: ProcessTimes | undefined): boolean => one.startTicks === other?.startTicks;
