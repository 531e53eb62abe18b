import { useEffect, useState } from 'preact/hooks';
import type { Coverage } from '../../src/reports/page-data.ts';
import { count, plural } from '../shared/format.ts';
import { coverage, head, isRead, whenRead } from './page.ts';

/** How much of the data this page holds. A page without a coverage record was truncated. */
export function CoverageNote() {
  const [held, setHeld] = useState(() => (isRead() ? coverage() : undefined));
  const [isWhole, setIsWhole] = useState(isRead);
  useEffect(() => {
    whenRead(() => {
      setHeld(coverage());
      setIsWhole(true);
    });
  }, []);
  return (
    <footer class="coverage">
      <p>
        {held
          ? sentencesOf(held).join(' ')
          : isWhole
            ? 'This file is incomplete: its end is missing.'
            : 'Loading the cases …'}
      </p>
      <p>
        Written by Proctor {head.proctor_version}. This page loads nothing from elsewhere; the run folders hold the
        evidence.
      </p>
    </footer>
  );
}

function sentencesOf({ cases, rows, full, wanted, bytes_max }: Coverage): string[] {
  const megabytes = count(bytes_max / 1_000_000);
  return [
    cases === 0
      ? 'There are no cases.'
      : full === cases
        ? `Full data for all ${count(cases)} cases.`
        : `Full data for ${count(full)} of ${count(cases)} cases; the others have only a row in the list.`,
    ...(full < wanted
      ? [
          `${plural(wanted - full, 'more does', 'more do')} not fit in full, because the page reached its limit of ${megabytes} MB.`,
        ]
      : []),
    ...(rows < cases ? [`${plural(cases - rows, 'case has', 'cases have')} no row, for the same reason.`] : []),
  ];
}
