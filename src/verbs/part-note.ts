import { printable } from '../base/printable.ts';
import type { SuiteRequest } from '../contracts/suite/index.ts';
import { partIdsIn } from '../evidence/suite/suite-part.ts';

/** Says which part of a suite a run is, or of which parts it consists; undefined for a run in one process. */
export function partNote({ shard, merged, cases }: SuiteRequest, folder: string): string | undefined {
  if (shard)
    return `This is only part ${shard.index} of ${shard.total}, with ${cases.count} of ${shard.all.count} cases. Join all parts with proctor merge.`;
  if (!merged) return undefined;
  const ids = partIdsIn(folder, NAMED_MAX);
  const more = merged.parts > ids.length ? ` and ${merged.parts - ids.length} more` : '';
  const lost = merged.missing.map(({ index }) => index).join(', ');
  const missing = lost === '' ? '' : ` Parts are missing: shard ${lost}.`;
  return `Merged from ${merged.parts} parts: ${ids.map(printable).join(', ')}${more}.${missing}`;
}

const NAMED_MAX = 16;
