import type { ComponentChildren } from 'preact';
import type { CaseCounts, HistoryRun, SuiteHistory } from '../../../src/reports/pages/history-data.ts';
import { count, dollars, instant, milliseconds, plural, sideName } from '../../shared/format.ts';
import { usePages } from '../pager.tsx';
import { Commit, percent, RunLink, Version } from './parts.tsx';

/** The runs with everything that the charts show, newest first. A column without any value is left out. */
export function RunsTable({ suite: { runs, older_runs } }: { readonly suite: SuiteHistory }) {
  const columns = COLUMNS.filter(({ isKnown }) => isKnown === undefined || runs.some(isKnown));
  const newestFirst = runs.map((run, index) => ({ run, index })).reverse();
  const { shown, pager } = usePages(newestFirst, RUNS_ON_PAGE, 'runs');
  return (
    <section class="history-part" aria-labelledby="runs">
      <h3 id="runs">
        Runs <span class="muted">newest first</span>
      </h3>
      <div class="table-box card" tabIndex={0} role="region" aria-label="Runs, scrolls sideways">
        <table>
          <thead>
            <tr>
              <th scope="col">#</th>
              {columns.map(({ heading }) => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ run, index }) => (
              <tr key={index}>
                <td>{index + 1}</td>
                {columns.map(({ heading, cell }) => (
                  <td key={heading}>{cell(run)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {pager}
      {older_runs > 0 && <p class="muted">{plural(older_runs, 'older run')} not shown. Use --limit to include more.</p>}
    </section>
  );
}

/** The list of trials of a case uses the same number. */
export const RUNS_ON_PAGE = 50;

interface Column {
  readonly heading: string;
  readonly cell: (run: HistoryRun) => ComponentChildren;
  /** Absent if every run has the value. */
  readonly isKnown?: (run: HistoryRun) => boolean;
}

const COLUMNS: readonly Column[] = [
  { heading: 'When', cell: run => instant(run.started_at) },
  { heading: 'Side', cell: run => sideName(run.side) },
  { heading: 'Commit', cell: run => <Commit run={run} />, isKnown: run => run.commit !== null },
  {
    heading: 'Version',
    cell: run => <Version run={run} />,
    isKnown: run => run.model !== null || run.agent_version !== null,
  },
  { heading: 'Pass rate', cell: run => <Rate run={run} /> },
  { heading: 'Failing', cell: ({ cases }) => (cases ? failingText(cases) : '–') },
  { heading: 'Trials', cell: run => count(run.trials) },
  { heading: 'p50', cell: ({ latency_ms }) => (latency_ms ? milliseconds(latency_ms.p50) : '–') },
  { heading: 'p95', cell: ({ latency_ms }) => (latency_ms ? milliseconds(latency_ms.p95) : '–') },
  { heading: 'Cost', cell: costText, isKnown: run => run.cost_usd !== null },
  {
    heading: 'Flakiness',
    cell: ({ flakiness }) => (flakiness === null ? '–' : percent(flakiness)),
    isKnown: run => run.flakiness !== null,
  },
  { heading: 'Run', cell: run => <RunLink run={run} /> },
];

function failingText({ failed, mixed }: CaseCounts): string {
  return `${count(failed)}${mixed > 0 ? ` + ${count(mixed)} mixed` : ''}`;
}

function costText({ cost_usd, unpriced }: HistoryRun): string {
  return cost_usd === null ? '–' : `${unpriced > 0 ? '≥ ' : ''}${dollars(cost_usd)}`;
}

/** A pass rate with its interval. */
export function Rate({ run: { pass_rate } }: { readonly run: Pick<HistoryRun, 'pass_rate'> }) {
  if (!pass_rate) return <>not judged</>;
  return (
    <>
      {percent(pass_rate.rate)}{' '}
      <span class="muted">
        ({percent(pass_rate.low)} to {percent(pass_rate.high)})
      </span>
    </>
  );
}
