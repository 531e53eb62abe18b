import { InvalidArgumentError } from 'commander';
import { type Shard, SHARDS_MAX } from '../../contracts/suite/shard.ts';

/** `2/4`: the second of four shards. */
export function shard(text: string): Shard {
  const [, index = 0, total = 0] = (/^([1-9]\d{0,3})\/([1-9]\d{0,3})$/.exec(text) ?? []).map(Number);
  if (index >= 1 && index <= total && total <= SHARDS_MAX) return { index, total };
  throw new InvalidArgumentError(`Use i/n, such as 2/4 for the second of four parts, with n at most ${SHARDS_MAX}.`);
}
