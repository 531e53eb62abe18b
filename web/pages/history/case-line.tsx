import type { HistoryCase, HistoryRun, SuiteHistory } from '../../../src/reports/pages/history-data.ts';
import { dollars, instant, milliseconds, sideName } from '../../shared/format.ts';
import { Icon } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { usePages } from '../pager.tsx';
import { Reasons } from './attention.tsx';
import type { ChartProps, Point } from './chart.tsx';
import { ChartGrid } from './charts.tsx';
import { Commit, percent, RunLink, RESULTS, resultIn, SinceWords, StatePill, Version } from './parts.tsx';
import { RUNS_ON_PAGE } from './runs-table.tsx';

/** One case: its state, its latency and cost, and every trial of every run. */
export function CaseLine({ suite, one }: { readonly suite: SuiteHistory; readonly one: HistoryCase }) {
  const { since, flakiness } = one;
  // Runs without the case would only stretch the line.
  const kept = suite.runs.flatMap((run, index) => ((one.trials[index] ?? '') === '' ? [] : [{ run, index }]));
  return (
    <>
      <section class="history-part">
        <h2 class="history-title">
          <Text value={one.case_id} />
        </h2>
        <p class="changed-title">
          <StatePill state={one.state} />
          <span>
            {since && <SinceWords since={since} />}
            {flakiness !== null && flakiness > 0 && `${since ? ', ' : ''}flakiness ${percent(flakiness)}`}
          </span>
        </p>
        <Reasons one={one} />
      </section>
      <section class="history-part" aria-labelledby="case-over-time">
        <h3 id="case-over-time">Over time</h3>
        <ChartGrid charts={chartsOf(kept, one)} />
      </section>
      <Trials kept={kept} one={one} />
    </>
  );
}

/** A run that has the case, and its index. */
interface KeptRun {
  readonly run: HistoryRun;
  readonly index: number;
}

function chartsOf(kept: readonly KeptRun[], { latency_ms, cost_usd }: HistoryCase): ChartProps[] {
  const runs = kept.map(({ run }) => run);
  const points = (values: readonly (number | null)[]): (Point | null)[] =>
    kept.map(({ index }) => {
      const value = values[index] ?? null;
      return value === null ? null : { value };
    });
  return [
    {
      title: 'Latency',
      note: 'The mean of the trials.',
      runs,
      series: [{ name: 'Latency', style: 'main', points: points(latency_ms) }],
      format: milliseconds,
    },
    {
      title: 'Cost',
      note: 'The sum of the trials that state a cost.',
      runs,
      series: [{ name: 'Cost', style: 'main', points: points(cost_usd) }],
      format: dollars,
    },
  ];
}

function Trials({ kept, one }: { readonly kept: readonly KeptRun[]; readonly one: HistoryCase }) {
  const { shown, pager } = usePages([...kept].reverse(), RUNS_ON_PAGE, 'runs');
  return (
    <section class="history-part" aria-labelledby="trials">
      <h3 id="trials">
        Trials <span class="muted">newest run first</span>
      </h3>
      <div class="table-box card" tabIndex={0} role="region" aria-label="Trials, scrolls sideways">
        <table>
          <thead>
            <tr>
              {HEADINGS.map(heading => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ run, index }) => (
              <TrialRow key={index} run={run} one={one} index={index} />
            ))}
          </tbody>
        </table>
      </div>
      {pager}
    </section>
  );
}

const HEADINGS = ['When', 'Trials', 'Side', 'Commit', 'Version', 'Latency', 'Cost', 'Run'];

interface TrialRowProps extends KeptRun {
  readonly one: HistoryCase;
}

function TrialRow({ run, one, index }: TrialRowProps) {
  const [latency = null, cost = null] = [one.latency_ms[index], one.cost_usd[index]];
  return (
    <tr>
      <td>{instant(run.started_at)}</td>
      <td>
        <TrialMarks letters={one.trials[index] ?? ''} />
        {one.changed.includes(index) && <span class="tag">the case changed</span>}
        {one.since?.run === index && (
          <span class="tag">{one.state === 'fails' ? 'starts to fail' : 'passes again'}</span>
        )}
      </td>
      <td>{sideName(run.side)}</td>
      <td>
        <Commit run={run} />
      </td>
      <td>
        <Version run={run} />
      </td>
      <td>{latency === null ? '–' : milliseconds(latency)}</td>
      <td>{cost === null ? '–' : dollars(cost)}</td>
      <td>
        <RunLink run={run} caseId={one.case_id} />
      </td>
    </tr>
  );
}

/** The verdict of each trial, one shape each. */
function TrialMarks({ letters }: { readonly letters: string }) {
  const shown = letters.slice(0, SHOWN_MAX).split('');
  return (
    <span class="trial-marks">
      {shown.map((letter, index) => {
        const { word, tone, path } = RESULTS[resultIn(letter)];
        return (
          <span key={index} title={word}>
            <Icon path={path} class={`mark tone-${tone}`} />
            <span class="unseen">{word} </span>
          </span>
        );
      })}
      {letters.length > SHOWN_MAX && <span>and {letters.length - SHOWN_MAX} more</span>}
    </span>
  );
}

const SHOWN_MAX = 20;
