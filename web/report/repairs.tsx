import { isLatencyRepaired } from '../../src/contracts/artifacts/measured.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import * as format from '../shared/format.ts';

/** How often each repair was applied: by number, such as "R6 × 12, R10 × 3". */
export function repairsText(repairs: Readonly<Record<string, number | undefined>>): string {
  return Object.entries(repairs)
    .sort(([one], [other]) => Number(one.slice(1)) - Number(other.slice(1)))
    .flatMap(([name, count]) => (count === undefined ? [] : [`${name} × ${format.count(count)}`]))
    .join(', ');
}

/** A row in the facts of a side. */
export function Repaired({ of: repairs }: { readonly of: Readonly<Record<string, number | undefined>> | null }) {
  if (repairs === null) return null;
  return (
    <>
      <dt>Repaired</dt>
      <dd title="Values that Proctor filled in or renamed, because the replies lack them or name them differently">
        {repairsText(repairs)}
      </dd>
    </>
  );
}

/** Names the sides whose events hold latencies that are not measurements. */
export function LatencyNote({ data }: { readonly data: Pick<PageCase, 'baseline' | 'new'> }) {
  const sides = (['baseline', 'new'] as const).filter(side => isLatencyRepaired(data[side] ?? {}));
  if (sides.length === 0) return null;
  return (
    <p class="note">
      Proctor filled in missing tool latencies of {sides.map(side => `the ${format.sideName(side)}`).join(' and ')}{' '}
      (repair R9). They are not measurements.
    </p>
  );
}
