import type { HistoryCase, HistoryRun, SuiteHistory } from '../../../src/reports/pages/history-data.ts';
import { count, plural } from '../../shared/format.ts';
import { Icon } from '../../shared/marks.tsx';
import { plain, Text } from '../../shared/visible.tsx';
import { usePages } from '../pager.tsx';
import { useHistoryLinks } from './links.ts';
import { RESULTS, resultIn, runWords } from './parts.tsx';

/** Every case in every run. Runs that do not fit are scrolled out of view on the left. */
export function HeatMap({ suite }: { readonly suite: SuiteHistory }) {
  const { cases, states } = suite;
  const links = useHistoryLinks();
  const first = Math.max(0, suite.runs.length - RUNS_SHOWN);
  const runs = suite.runs.slice(first);
  const total = Object.values(states).reduce((sum, number) => sum + number, 0);
  const { shown, pager } = usePages(cases, CASES_SHOWN, 'cases');
  if (cases.length === 0) return null;
  return (
    <section class="history-part" aria-labelledby="every-case">
      <h3 id="every-case">
        Every case in every run{' '}
        <span class="muted">
          {cases.length < total ? `${count(cases.length)} of ${plural(total, 'case')}` : plural(total, 'case')}
          {first > 0 && `, the newest ${count(runs.length)} runs`}
        </span>
      </h3>
      <Key suite={suite} />
      <div class="heat card" tabIndex={0} role="region" aria-label="Cases by run, scrolls sideways">
        <table>
          <caption class="unseen">The result of every case in every run, oldest run first</caption>
          <thead>
            <tr>
              <th scope="col">Case</th>
              {runs.map((run, index) => (
                <th key={index} scope="col" title={`${runWords(run)}, ${plain(run.run_id)}`}>
                  <span class="unseen">{runWords(run)}</span>
                  <span aria-hidden="true">{first + index + 1}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(one => (
              <tr key={one.case_id}>
                <th scope="row">
                  <a href={links.view({ suite: suite.name, case: one.case_id })}>
                    <Text value={one.case_id} />
                  </a>
                </th>
                {runs.map((run, index) => (
                  <Cell key={index} run={run} one={one} index={first + index} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {pager}
    </section>
  );
}

const RUNS_SHOWN = 50;
/** Limits the size of the page, because each cell has five elements. */
const CASES_SHOWN = 25;

interface CellProps {
  readonly run: HistoryRun;
  readonly one: HistoryCase;
  readonly index: number;
}

function Cell({ run, one, index }: CellProps) {
  const letters = one.trials[index] ?? '';
  const { word, tone, path } = RESULTS[resultIn(letters)];
  const isChanged = one.changed.includes(index);
  const passes = letters.split('p').length - 1;
  const trials = letters.length > 1 ? ` (${passes} of ${letters.length} trials passed)` : '';
  const says = `${word}${trials}${isChanged ? ', the case changed' : ''}`;
  const link = useHistoryLinks().run(run, one.case_id);
  const mark = (
    <>
      <Icon path={path} class={`mark tone-${tone}`} />
      <span class="unseen">{says}</span>
    </>
  );
  const title = `${plain(one.case_id)}: ${says}. ${runWords(run)}`;
  return (
    <td class={isChanged ? 'changed' : undefined}>
      {link === undefined || letters === '' ? (
        <span class="cell" title={title}>
          {mark}
        </span>
      ) : (
        <a class="cell" href={link} title={`${title}. Opens its report.`}>
          {mark}
        </a>
      )}
    </td>
  );
}

/** The meaning of the shapes in the table. */
function Key({ suite: { cases } }: { readonly suite: SuiteHistory }) {
  const seen = new Set(cases.flatMap(({ trials }) => trials.map(resultIn)));
  return (
    <p class="heat-key muted">
      {ORDER.filter(result => seen.has(result)).map(result => {
        const { word, tone, path } = RESULTS[result];
        return (
          <span key={result}>
            <Icon path={path} class={`mark tone-${tone}`} /> {word}
          </span>
        );
      })}
      {cases.some(({ changed }) => changed.length > 0) && (
        <span>
          <span class="changed-sample" aria-hidden="true" /> the case changed
        </span>
      )}
    </p>
  );
}

const ORDER = ['pass', 'fail', 'mixed', 'unjudged', 'none', 'absent'] as const;
