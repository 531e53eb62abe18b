import type { PageHead, RowKind } from '../../src/reports/page-data.ts';
import { FILTERS } from '../../src/reports/rows/selection.ts';
import { type Address, hrefOf, NO_FILTERS } from './address.ts';
import { Icon, KINDS } from '../shared/marks.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly head: PageHead;
  readonly address: Address;
}

/** The filters in effect. Each one is a link to the list without it. */
export function Chips({ head, address }: Props) {
  const active = FILTERS.filter(key => address[key] !== '');
  if (active.length === 0) return null;
  return (
    <ul class="chips" aria-label="Active filters">
      {active.map(key => (
        <li key={key}>
          <a class="chip" href={hrefOf(address, { [key]: '' })}>
            <span class="unseen">Remove the filter </span>
            <span class="chip-key">{labelOf(key, head)}</span>
            <span class="chip-value">
              <Text value={valueOf(key, address[key])} />
            </span>
            <Icon path="M5 5l6 6M11 5l-6 6" />
          </a>
        </li>
      ))}
      {active.length > 1 && (
        <li>
          <a href={hrefOf(address, NO_FILTERS)}>Clear filters</a>
        </li>
      )}
    </ul>
  );
}

type Key = (typeof FILTERS)[number];

const LABELS: Record<Key, string> = {
  change: 'Change',
  verdict: 'Candidate verdict',
  error: 'Error',
  suite: 'Suite',
  cause: 'Cause',
  expectation: 'Failed expectation',
  tag: 'Tag',
  severity: 'Severity',
  q: 'Search',
};

export const labelOf = (key: Key, head: PageHead): string =>
  key === 'verdict' && head.kind === 'run' ? 'Verdict' : LABELS[key];

function valueOf(key: Key, value: string): string {
  if (key === 'error') return value.replaceAll('_', ' ');
  if (key !== 'change' && key !== 'verdict') return value;
  return value
    .split(',')
    .map(kind => (Object.hasOwn(KINDS, kind) ? KINDS[kind as RowKind].word : kind))
    .join(', ');
}
