import { useEffect, useMemo, useState } from 'preact/hooks';
import type { PageCase, PageHead, PageRow } from '../../src/reports/page-data.ts';
import { type Address, hrefOf } from './address.ts';
import { AgentRuns } from './agent-run.tsx';
import { Attempts } from './attempts.tsx';
import { Actions } from './actions.tsx';
import { Changes } from './case-changes.tsx';
import { Commands } from './commands.tsx';
import { Events } from './events.tsx';
import { count } from '../shared/format.ts';
import { Icon, Pill, Trials } from '../shared/marks.tsx';
import { Output } from './output.tsx';
import { PlaceLink, useJump } from './places.tsx';
import { Section } from '../shared/section.tsx';
import { useSource } from '../shared/source.ts';
import { choiceIn, chosenCase } from './trial-choice.ts';
import { LackingTrials, TrialPicker } from './trial-picker.tsx';
import { TrialTable } from './trial-table.tsx';
import { JsonView } from '../shared/values.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly head: PageHead;
  readonly address: Address;
  readonly position: number;
  readonly of: number;
  readonly onMove: (by: number) => void;
}

export function CaseDetail({ head, address, position, of, onMove }: Props) {
  const { row, data, isAsking } = useSource().useCase(address.case);
  useJump(address.at, data !== undefined);
  useEffect(() => {
    if (!address.at) document.querySelector('.report-main')?.scrollTo({ top: 0 });
  }, []);
  return (
    <article class="detail" aria-labelledby="case-title">
      <div class="steps">
        <a href={hrefOf(address, { case: '', at: '' })}>
          <Icon path="M9.5 3.5 5 8l4.5 4.5" />
          {head.kind === 'comparison' ? 'Comparison' : 'Run'}
        </a>
        {position >= 0 && (
          <span class="place">
            {count(position + 1)} of {count(of)}
          </span>
        )}
        <button
          type="button"
          class="quiet"
          onClick={() => onMove(-1)}
          disabled={position <= 0}
          aria-label="Previous case"
        >
          <Icon path="M3.5 10 8 5.5l4.5 4.5" />
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => onMove(1)}
          disabled={position < 0 || position >= of - 1}
          aria-label="Next case"
        >
          <Icon path="M3.5 6 8 10.5 12.5 6" />
        </button>
      </div>
      {row ? (
        <Body head={head} row={row} data={data} address={address} />
      ) : isAsking ? (
        <p class="empty" id="case-title">
          Loading the case …
        </p>
      ) : (
        <NoSuchCase id={address.case} />
      )}
    </article>
  );
}

function Body({
  head,
  row,
  data,
  address,
}: { readonly row: PageRow; readonly data: PageCase | null | undefined } & Pick<Props, 'head' | 'address'>) {
  const [id, title, kind, suite, baseline, candidate] = row;
  const suiteName = head.suites[suite];
  const isRun = head.kind === 'run';
  return (
    <>
      <header class="case-head">
        <h2 id="case-title">{title ? <Text value={title} /> : id}</h2>
        <p class="facts">
          <Pill kind={kind} />
          {!isRun && (
            <span class="turn">
              <span>
                <span class="muted">Baseline</span> <Trials letters={baseline} />
              </span>
              <span>
                <Icon path="M3 8h9.5M9 4.5 12.5 8 9 11.5" class="arrow" />
                <span class="muted">Candidate</span> <Trials letters={candidate} />
              </span>
            </span>
          )}
          <code>{id}</code>
          {suiteName && (
            <span class="muted">
              <Text value={suiteName} />
            </span>
          )}
        </p>
      </header>
      {data ? (
        <Full id={id} data={data} address={address} isRun={isRun} />
      ) : data === null ? (
        <OnlyRow row={row} />
      ) : (
        <p class="empty">Loading the case …</p>
      )}
    </>
  );
}

function OnlyRow({ row }: { readonly row: PageRow }) {
  const [id, , , , , , , , , , , why] = row;
  return (
    <>
      <p class="empty">
        {why !== 0 && (
          <>
            <Text value={why} />{' '}
          </>
        )}
        This page has only a row for this case. Its documents are <code>{id}.json</code> in the run folders.
      </p>
      <Commands id={id} />
    </>
  );
}

function NoSuchCase({ id }: { readonly id: string }) {
  return (
    <div class="empty">
      <h2 class="empty-title" id="case-title">
        No such case
      </h2>
      <p>
        This page has no case named{' '}
        <code>
          <Text value={id} />
        </code>
        .
      </p>
    </div>
  );
}

interface FullProps {
  readonly id: string;
  readonly data: PageCase;
  readonly address: Address;
  readonly isRun: boolean;
}

function Full({ id, data, address, isRun }: FullProps) {
  const { choice, chosen, lacking } = useChosen(id, data, address.trial);
  // The cause and the failed expectations cite the trials that the case shows first.
  const cited = { ...address, trial: '' };
  return (
    <>
      {chosen.cuts.length > 0 && <p class="note">{chosen.cuts.join(' ')}</p>}
      <Asked data={data} />
      <Changes data={data} />
      <Assertions data={data} address={cited} />
      <RootCause data={data} address={cited} />
      <TrialPicker data={data} choice={choice} address={address} />
      <LackingTrials lacking={lacking} data={data} choice={choice} />
      <AgentRuns data={chosen} isRun={isRun} />
      <Events data={chosen} address={address} isRun={isRun} />
      <Output data={chosen} isRun={isRun} />
      <Actions data={chosen} isRun={isRun} />
      <TrialTable data={data} choice={choice} address={address} isRun={isRun} />
      <Attempts data={chosen} isRun={isRun} />
      {data.expected !== null && (
        <Section title="Expected">
          <JsonView value={data.expected} />
        </Section>
      )}
      <Commands id={id} data={chosen} />
    </>
  );
}

/** The case with the documents of the trials in the address. Their elements follow those of all cases. */
function useChosen(id: string, data: PageCase, trial: string) {
  const { isRead, trialAt, whenRead } = useSource();
  const [isWhole, setIsWhole] = useState(isRead);
  useEffect(() => whenRead(() => setIsWhole(true)), []);
  return useMemo(() => {
    const choice = choiceIn(trial, data);
    const { data: chosen, lacking } = chosenCase(data, choice, (side, number) => trialAt(id, side, number));
    return { choice, chosen, lacking: isWhole ? lacking : [] };
  }, [id, data, trial, isWhole]);
}

function Asked({ data: { input } }: { readonly data: PageCase }) {
  const { user, ...rest } = (input ?? {}) as { readonly user?: unknown };
  if (typeof user !== 'string') return null;
  return (
    <section class="asked" aria-label="Case input" data-at="baseline:case new:case" tabIndex={-1}>
      <blockquote>
        <Text value={user} />
      </blockquote>
      {Object.keys(rest).length > 0 && (
        <details>
          <summary>Context</summary>
          <JsonView value={rest} />
        </details>
      )}
    </section>
  );
}

function Assertions({ data, address }: { readonly data: PageCase; readonly address: Address }) {
  const failing = data.assertions.filter(({ status }) => status === 'fail');
  const others = data.assertions.filter(({ status }) => status !== 'fail');
  if (data.assertions.length === 0)
    return data.expected === null ? (
      <p class="note">
        The case states no expectations, so nothing was judged. Add <code>expected</code> to it; see docs/suites.md.
      </p>
    ) : null;
  return (
    <Section title={failing.length > 0 ? 'Why it failed' : 'What was judged'}>
      <ul class="assertions">
        {[...failing, ...others].map(({ name, message, at, status }, index) => (
          <li key={index} data-status={status}>
            <Icon
              path={
                { fail: 'M5 5l6 6M11 5l-6 6', pass: 'M4 8.5 7 11.5 12 5', not_judged: 'M4 8h1M7.5 8h1M11 8h1' }[status]
              }
              class={`mark tone-${{ fail: 'bad', pass: 'good', not_judged: 'calm' }[status]}`}
            />
            <span>
              <strong>{name.replaceAll('_', ' ')}</strong>
              <span class="unseen">{{ fail: ' failed', pass: ' passed', not_judged: ' was not judged' }[status]}</span>{' '}
              {message && <Text value={message} />}
            </span>
            {at && <PlaceLink place={`new:${at}`} address={address} isPlain />}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const SURE = { high: 3, medium: 2, low: 1 } as const;

function RootCause({ data: { divergence }, address }: { readonly data: PageCase; readonly address: Address }) {
  if (!divergence) return null;
  const { kind, says, confidence, cites } = divergence;
  return (
    <section class="part cause">
      <h3>
        Root cause <span class="tag">{kind.replaceAll('_', ' ')}</span>
        <span class="sure">
          <span class="meter" aria-hidden="true">
            {[1, 2, 3].map(step => (
              <span key={step} data-on={step <= SURE[confidence]} />
            ))}
          </span>
          {confidence} confidence
        </span>
      </h3>
      <p>
        <Text value={says} />
      </p>
      {cites.length > 0 && (
        <p class="cites">
          <span class="muted">Evidence</span>
          {cites.map(place => (
            <PlaceLink key={place} place={place} address={address} />
          ))}
        </p>
      )}
    </section>
  );
}
