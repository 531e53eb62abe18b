import type { PageCase } from '../../src/reports/page-data.ts';
import type { PageUnderWay } from '../../src/reports/page-under-way.ts';
import * as format from '../shared/format.ts';
import { repairsText } from './repairs.tsx';
import { Section } from '../shared/section.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly data: PageCase;
  readonly isRun: boolean;
}

/** The attempts on each side. */
export function Attempts({ data, isRun }: Props) {
  const { attempts: failed = [], sent = null } = data.under_way ?? {};
  const rows = [
    ...(['baseline', 'new'] as const).flatMap(side => (data[side]?.attempts ?? []).map(attempt => ({ side, attempt }))),
    ...failed.map(attempt => ({ side: 'new' as const, attempt })),
  ];
  const isRepaired = rows.some(({ attempt }) => attempt.repairs !== undefined);
  const isPlain = rows.every(({ attempt }) => attempt.attempt === 1 && attempt.outcome === 'ok');
  if (!isRepaired && sent === null && isPlain) return null;
  return (
    <Section title="Attempts">
      <div class="table-box" role="region" aria-label="Attempts" tabIndex={0}>
        <table class="stacked">
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
                <td data-label="Took" class="attempt-took">
                  {attempt.latency_ms === undefined ? '–' : format.milliseconds(attempt.latency_ms)}
                </td>
                <td data-label="Outcome">
                  {attempt.outcome === 'ok' ? 'answered' : (attempt.error_class ?? 'error').replaceAll('_', ' ')}
                </td>
                {isRepaired && (
                  <td data-label="Repaired">{attempt.repairs ? <Text value={repairsText(attempt.repairs)} /> : '–'}</td>
                )}
                <td data-label="Note">
                  {attempt.http_status !== undefined && `HTTP ${attempt.http_status}${attempt.note ? ': ' : ''}`}
                  {attempt.note && <Text value={attempt.note} />}
                </td>
              </tr>
            ))}
            {sent && <SentRow of={sent} isRepaired={isRepaired} />}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** The attempt that waits for its answer. Only a run has one. */
function SentRow({ of: { attempt, started_at, run_id }, isRepaired }: SentProps) {
  return (
    <tr>
      <td data-label="Attempt">{attempt}</td>
      <td data-label="Started">{format.instant(started_at)}</td>
      <td data-label="Took">–</td>
      <td data-label="Outcome">waits for the answer</td>
      {isRepaired && <td data-label="Repaired">–</td>}
      <td data-label="Note">
        <Text value={run_id ?? ''} />
      </td>
    </tr>
  );
}

interface SentProps {
  readonly of: NonNullable<PageUnderWay['sent']>;
  readonly isRepaired: boolean;
}
