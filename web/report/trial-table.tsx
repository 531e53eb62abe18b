import type { PageCase, PageTrial } from '../../src/reports/page-data.ts';
import type { ReportSide } from '../../src/reports/report-input.ts';
import { type Address, hrefOf } from './address.ts';
import * as format from '../shared/format.ts';
import { KINDS, Mark } from '../shared/marks.tsx';
import { RunId } from '../shared/run-id.tsx';
import { Section } from '../shared/section.tsx';
import { type Choice, choiceText, firstChoice, SIDES } from './trial-choice.ts';

interface Props {
  readonly data: PageCase;
  readonly choice: Choice;
  readonly address: Address;
  readonly isRun: boolean;
}

interface Measure {
  readonly label: string;
  readonly valueOf: (trial: PageTrial) => number | null;
  readonly text: (value: number) => string;
  /** Where the value comes from; shown if no trial has one. */
  readonly hint?: string;
  /** Left out if no trial has a value. */
  readonly isOptional?: true;
}

const MEASURES: readonly Measure[] = [
  { label: 'Latency', valueOf: ({ latency_ms }) => latency_ms, text: format.milliseconds },
  { label: 'First token', valueOf: ({ ttft_ms }) => ttft_ms ?? null, text: format.milliseconds, isOptional: true },
  {
    label: 'Cost',
    valueOf: ({ cost_usd }) => cost_usd,
    text: format.dollars,
    hint: 'The agent reports no cost. Map usage.cost_usd or state prices; see docs/targets.md.',
  },
  {
    label: 'Tokens',
    valueOf: ({ tokens }) => tokens ?? null,
    text: format.tokens,
    hint: 'The agent reports no tokens. Map usage.total_tokens; see docs/targets.md.',
  },
  { label: 'Score', valueOf: ({ score }) => score, text: format.score },
];

/** The measurements of the case in each run, and their means. */
export function TrialTable({ data, choice, address, isRun }: Props) {
  const { trials } = data;
  const all = SIDES.flatMap(side => trials[side]);
  if (all.length === 0) return null;
  const isKnown = ({ valueOf }: Measure): boolean => all.some(trial => valueOf(trial) !== null);
  const measures = MEASURES.filter(measure => !measure.isOptional || isKnown(measure));
  const hints = measures.filter(measure => !isKnown(measure)).flatMap(({ hint }) => hint ?? []);
  return (
    <Section title="Trials">
      <div class="table-box" role="region" aria-label="Trials" tabIndex={0}>
        <table class="stacked trial-rows">
          <thead>
            <tr>
              {!isRun && <th scope="col">Side</th>}
              {!isRun && <th scope="col">Trial</th>}
              <th scope="col">Run</th>
              <th scope="col">Verdict</th>
              {measures.map(({ label }) => (
                <th scope="col" key={label}>
                  {label}
                </th>
              ))}
              <th scope="col">Output</th>
            </tr>
          </thead>
          <tbody>
            {SIDES.flatMap(side =>
              trials[side].map((trial, index) => (
                <TrialRow
                  key={`${side}-${index}`}
                  {...{ data, choice, address, isRun, side, trial, measures }}
                  number={index + 1}
                />
              )),
            )}
          </tbody>
        </table>
      </div>
      {!isRun && <Means data={data} measures={measures} />}
      {hints.map(hint => (
        <p class="note" key={hint}>
          {hint}
        </p>
      ))}
    </Section>
  );
}

interface RowProps extends Props {
  readonly side: ReportSide;
  readonly trial: PageTrial;
  readonly number: number;
  readonly measures: readonly Measure[];
}

function TrialRow({ data, choice, address, isRun, side, trial, number, measures }: RowProps) {
  const isOpen = data.trials[side].length > 1 && choice[side] === number;
  const trialHash = choiceText({ ...choice, [side]: number }, firstChoice(data));
  return (
    <tr aria-current={isOpen ? 'true' : undefined}>
      {!isRun && <th scope="row">{format.sideName(side)}</th>}
      {!isRun && (
        <td data-label="Trial">
          {isOpen || data.trials[side].length === 1 ? (
            <span>
              {number} {isOpen && <span class="tag">shown above</span>}
            </span>
          ) : (
            <a
              href={hrefOf(address, { trial: trialHash, at: '' })}
              aria-label={`Open trial ${number} of the ${format.sideName(side)}`}
            >
              {number}
            </a>
          )}
        </td>
      )}
      <td data-label="Run">
        <RunId value={trial.run_id} />
        {trial.rerun && <span class="tag">run again</span>}
      </td>
      <td data-label="Verdict">
        <span class="trials">
          <Mark kind={trial.verdict} />
          {KINDS[trial.verdict].word}
          {trial.error_class && <span class="error-class">{trial.error_class.replaceAll('_', ' ')}</span>}
        </span>
      </td>
      {measures.map(({ label, valueOf, text }) => {
        const value = valueOf(trial);
        return (
          <td data-label={label} key={label}>
            {value === null ? '–' : text(value)}
          </td>
        );
      })}
      <td data-label="Output">
        <code>{trial.output_hash?.replace('sha256:', '').slice(0, 10) ?? '–'}</code>
      </td>
    </tr>
  );
}

/** The mean of each side, and the change in percent of the baseline's mean. */
function Means({ data: { trials }, measures }: { readonly data: PageCase; readonly measures: readonly Measure[] }) {
  const rows = measures.flatMap(({ label, valueOf, text }) => {
    const [baseline, candidate] = SIDES.map(side => meanOf(trials[side].map(valueOf)));
    if (baseline === undefined || candidate === undefined) return [];
    return [{ label, change: format.against(baseline, candidate), says: `${text(baseline)} → ${text(candidate)}` }];
  });
  if (rows.length === 0) return null;
  const isOne = SIDES.every(side => trials[side].length === 1);
  return (
    <ul class="means">
      {rows.map(({ label, change, says }) => (
        <li key={label}>
          <span class="muted">{isOne ? label : `Mean ${label.toLowerCase()}`}</span> {says}
          {change && <span class="muted">, {change}</span>}
        </li>
      ))}
    </ul>
  );
}

function meanOf(values: readonly (number | null)[]): number | undefined {
  const known = values.filter(value => value !== null);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
}
