import type { PageCase, PageTrial } from '../../src/reports/page-data.ts';
import type { ReportSide } from '../../src/reports/report-input.ts';
import { type Address, go, hrefOf } from './address.ts';
import { Command } from './commands.tsx';
import { count, milliseconds, sideName } from '../shared/format.ts';
import { KINDS, Mark } from '../shared/marks.tsx';
import { useSource } from '../shared/source.ts';
import { type Choice, choiceText, firstChoice, SIDES } from './trial-choice.ts';

interface Props {
  readonly data: PageCase;
  readonly choice: Choice;
  readonly address: Address;
}

/** More trials than this are a list to choose from. */
const LINKS_MAX = 12;

/** Which trial of each side is open below. */
export function TrialPicker({ data, choice, address }: Props) {
  if (SIDES.every(side => data.trials[side].length < 2)) return null;
  const first = firstChoice(data);
  const hash = (side: ReportSide, number: number): string =>
    hrefOf(address, { trial: choiceText({ ...choice, [side]: number }, first), at: '' });
  return (
    <div class="trial-picker">
      {SIDES.filter(side => data.trials[side].length > 0).map(side => (
        <nav key={side} aria-label={`Trials of the ${sideName(side)}`}>
          <span class="muted">{side === 'new' ? 'Candidate' : 'Baseline'} trial</span>
          {data.trials[side].length <= LINKS_MAX ? (
            <ol>
              {data.trials[side].map((trial, index) => (
                <li key={index}>
                  <a
                    href={hash(side, index + 1)}
                    aria-current={choice[side] === index + 1 ? 'true' : undefined}
                    title={titleOf(trial)}
                  >
                    {index + 1} <Mark kind={trial.verdict} />
                    <span class="unseen">{KINDS[trial.verdict].word}</span>
                  </a>
                </li>
              ))}
            </ol>
          ) : (
            <select
              aria-label={`Trial of the ${sideName(side)}`}
              value={choice[side]}
              onChange={event => go(hash(side, Number(event.currentTarget.value)))}
            >
              {data.trials[side].map((trial, index) => (
                <option key={index} value={index + 1}>
                  {count(index + 1)}: {titleOf(trial)}
                </option>
              ))}
            </select>
          )}
        </nav>
      ))}
    </div>
  );
}

const titleOf = ({ verdict, latency_ms }: PageTrial): string =>
  `${KINDS[verdict].word}${latency_ms === null ? '' : `, ${milliseconds(latency_ms)}`}`;

/** Says that the page lacks a chosen trial, and which command shows it. */
export function LackingTrials({
  lacking,
  data,
  choice,
}: Omit<Props, 'address'> & { readonly lacking: readonly ReportSide[] }) {
  const { head } = useSource();
  return (
    <>
      {lacking.map(side => {
        const { run_id: run = '', error_class } = data.trials[side][choice[side] - 1] ?? {};
        const isAway = head.commands?.away.includes(run) ?? false;
        return (
          <div class="note" key={side} role="note">
            <p>
              {error_class === 'missing'
                ? `Trial ${count(choice[side])} of the ${sideName(side)} has no document: the case did not run.`
                : `To stay small, this page leaves out trial ${count(choice[side])} of the ${sideName(side)}.`}{' '}
              {isAway ? 'Its run is not in this project.' : 'This command shows its run:'}
            </p>
            {!isAway && <Command words={['proctor', 'show', run]} does={`Show the run of trial ${choice[side]}`} />}
          </div>
        );
      })}
    </>
  );
}
