import type { PageCase } from '../../src/reports/page-data.ts';
import * as format from '../shared/format.ts';
import { KINDS, Mark } from '../shared/marks.tsx';
import { repairsText } from './repairs.tsx';
import { RunId } from '../shared/run-id.tsx';
import { Section } from '../shared/section.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly data: PageCase;
  readonly isRun: boolean;
}

/** The measurements of the case in each run. */
export function TrialTable({ data: { trials, shown }, isRun }: Props) {
  const rows = (['baseline', 'new'] as const).flatMap(side => trials[side].map(trial => ({ side, trial })));
  if (rows.length === 0) return null;
  const isStreamed = rows.some(({ trial }) => trial.ttft_ms !== undefined);
  return (
    <Section title="Trials">
      <div class="table-box" role="region" aria-label="Trials" tabIndex={0}>
        <table class="numbers">
          <thead>
            <tr>
              {!isRun && <th scope="col">Side</th>}
              <th scope="col">Run</th>
              <th scope="col">Verdict</th>
              <th scope="col">Latency</th>
              {isStreamed && <th scope="col">First token</th>}
              <th scope="col">Cost</th>
              <th scope="col">Score</th>
              <th scope="col">Output</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ side, trial }, index) => (
              <tr key={index}>
                {!isRun && <th scope="row">{format.sideName(side)}</th>}
                <td data-label="Run">
                  <RunId value={trial.run_id} />
                  {trial.rerun && <span class="tag">run again</span>}
                  {trials[side].length > 1 && shown[side] === trial.run_id && <span class="tag">shown above</span>}
                </td>
                <td data-label="Verdict">
                  <span class="trials">
                    <Mark kind={trial.verdict} />
                    {KINDS[trial.verdict].word}
                    {trial.error_class && <span class="error-class">{trial.error_class.replaceAll('_', ' ')}</span>}
                  </span>
                </td>
                <td data-label="Latency">{trial.latency_ms === null ? '–' : format.milliseconds(trial.latency_ms)}</td>
                {isStreamed && (
                  <td data-label="First token">
                    {trial.ttft_ms === undefined ? '–' : format.milliseconds(trial.ttft_ms)}
                  </td>
                )}
                <td data-label="Cost">{trial.cost_usd === null ? '–' : format.dollars(trial.cost_usd)}</td>
                <td data-label="Score">{trial.score === null ? '–' : format.score(trial.score)}</td>
                <td data-label="Output">
                  <code>{trial.output_hash?.replace('sha256:', '').slice(0, 10) ?? '–'}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** The attempts on each side. */
export function Attempts({ data, isRun }: Props) {
  const rows = (['baseline', 'new'] as const).flatMap(side =>
    (data[side]?.attempts ?? []).map(attempt => ({ side, attempt })),
  );
  const isRepaired = rows.some(({ attempt }) => attempt.repairs !== undefined);
  if (!isRepaired && rows.every(({ attempt }) => attempt.attempt === 1 && attempt.outcome === 'ok')) return null;
  return (
    <Section title="Attempts">
      <div class="table-box" role="region" aria-label="Attempts" tabIndex={0}>
        <table class="numbers">
          <thead>
            <tr>
              {!isRun && <th scope="col">Side</th>}
              <th scope="col">Attempt</th>
              <th scope="col">Started</th>
              <th scope="col">Took</th>
              <th scope="col">Outcome</th>
              {isRepaired && <th scope="col">Repaired</th>}
              <th scope="col">Note</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ side, attempt }, index) => (
              <tr key={index} data-at={`${side}:attempts[${attempt.attempt - 1}]`} tabIndex={-1}>
                {!isRun && <th scope="row">{format.sideName(side)}</th>}
                <td data-label="Attempt">{attempt.attempt}</td>
                <td data-label="Started">{format.instant(attempt.started_at)}</td>
                <td data-label="Took">
                  {attempt.latency_ms === undefined ? '–' : format.milliseconds(attempt.latency_ms)}
                </td>
                <td data-label="Outcome">
                  {attempt.outcome === 'ok' ? 'answered' : (attempt.error_class ?? 'error').replaceAll('_', ' ')}
                </td>
                {isRepaired && (
                  <td data-label="Repaired">{attempt.repairs ? <Text value={repairsText(attempt.repairs)} /> : '–'}</td>
                )}
                <td data-label="Note">
                  {attempt.http_status !== undefined && `HTTP ${attempt.http_status} `}
                  {attempt.note && <Text value={attempt.note} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
