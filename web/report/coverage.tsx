import { useEffect, useState } from 'preact/hooks';
import type { Coverage } from '../../src/reports/page-data.ts';
import { count, plural } from '../shared/format.ts';
import { useSource } from '../shared/source.ts';

/** How much of the data this page holds. A page without a coverage record was truncated. */
export function CoverageNote() {
  const { coverage, head, isRead, whenRead } = useSource();
  const [held, setHeld] = useState(() => (isRead() ? coverage() : undefined));
  const [isWhole, setIsWhole] = useState(isRead);
  useEffect(() => {
    whenRead(() => {
      setHeld(coverage());
      setIsWhole(true);
    });
  }, []);
  if (held === null) return null;
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
        Proctor {head.proctor_version} wrote this page. It makes no network requests. The run folders contain the
        evidence.
      </p>
    </footer>
  );
}

function sentencesOf({ cases, rows, full, wanted, bytes_max, trials }: Coverage): string[] {
  const megabytes = count(bytes_max / 1_000_000);
  return [
    cases === 0
      ? 'There are no cases.'
      : full === cases
        ? `This page shows ${cases === 1 ? 'its case' : `all ${count(cases)} cases`} in full.`
        : `This page shows ${count(full)} of ${count(cases)} cases in full. The others have only a row in the list.`,
    ...(full < wanted
      ? [
          `${plural(wanted - full, 'more case does', 'more cases do')} not fit in full, because the page is limited to ${megabytes} MB.`,
        ]
      : []),
    ...(rows < cases ? [`${plural(cases - rows, 'case has', 'cases have')} no row, for the same reason.`] : []),
    ...(trials && trials.held < trials.wanted
      ? [
          `It has ${count(trials.held)} of ${count(trials.wanted)} further trials of the cases that need attention. To see another one, run proctor show with the id of its run.`,
        ]
      : []),
  ];
}
