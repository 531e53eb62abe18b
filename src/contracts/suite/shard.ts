/** One part of a suite: every `total`-th case of the file, from the one at `index`. */
export interface Shard {
  readonly index: number;
  readonly total: number;
}

/** More machines than any suite needs. */
export const SHARDS_MAX = 256;

/** Whether the case at this position of the file, counted from 0, belongs to the shard. */
export function isInShard(position: number, { index, total }: Shard): boolean {
  return position % total === index - 1;
}

/** How many of `count` cases a shard has. */
export function shardSize(count: number, { index, total }: Shard): number {
  return Math.max(0, Math.ceil((count - index + 1) / total));
}
