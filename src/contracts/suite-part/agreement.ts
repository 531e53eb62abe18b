import { canonicalize } from '../../base/canonical.ts';
import type { RunArtifact } from '../artifacts/index.ts';
import type { SuiteRequest } from '../suite/index.ts';
import { shardSize } from '../suite/shard.ts';
import type { OpenedPart } from './open.ts';

/** The keys of a run that all parts must agree on. */
export interface PartTerms {
  readonly request: SuiteRequest;
  readonly run: Pick<RunArtifact, 'runner_version' | 'repo_commit'>;
}

/** The first thing that two parts, or a part and its merged run, disagree on. */
export function disagreement(one: PartTerms, other: PartTerms): string | undefined {
  const [first, second] = [termsOf(one), termsOf(other)];
  const differs = (key: string): boolean => canonicalize(first[key] ?? null) !== canonicalize(second[key] ?? null);
  const total = [one, other].map(({ request }) => request.shard?.total);
  if (total.every(count => count !== undefined) && total[0] !== total[1]) return 'the number of shards';
  return Object.keys({ ...first, ...second }).find(differs);
}

function termsOf({ request, run: { runner_version, repo_commit } }: PartTerms): Readonly<Record<string, unknown>> {
  const { run_id: _, cases: __, begun_elsewhere: ___, shard, merged, repetition, ...others } = request;
  const { number, total } = repetition;
  return {
    ...others,
    repetition: `${number} of ${total}`,
    'the digest of all cases': (shard ?? merged)?.all,
    'the version of Proctor': runner_version,
    'the commit': repo_commit,
  };
}

/** Whether the checkout of any part had changes; undefined if that is not known of every part. */
export function dirtyParts(parts: readonly Pick<OpenedPart, 'run'>[]): boolean | undefined {
  if (parts.some(({ run }) => run.dirty === true)) return true;
  return parts.every(({ run }) => run.dirty === false) ? false : undefined;
}

/** The shards that have cases but are not among the parts. */
export function missingShards(parts: readonly OpenedPart[]): { index: number; cases: number }[] {
  const shard = parts[0]?.request.shard;
  if (!shard) return [];
  const there = new Set(parts.map(({ request }) => request.shard?.index));
  return Array.from({ length: shard.total }, (_, at) => at + 1)
    .map(index => ({ index, cases: shardSize(shard.all.count, { index, total: shard.total }) }))
    .filter(({ index, cases }) => cases > 0 && !there.has(index));
}
