import { useEffect, useState } from 'preact/hooks';
import type { PageCase, PageHead, PageRow } from '../../src/reports/page-data.ts';
import { type Address, hashOf } from './address.ts';
import { AgentRuns } from './agent-run.tsx';
import { Attempts, TrialTable } from './attempts.tsx';
import { Actions } from './actions.tsx';
import { Events } from './events.tsx';
import { count } from '../shared/format.ts';
import { Icon, Pill, Trials } from '../shared/marks.tsx';
import { Output } from './output.tsx';
import { caseAt, isRead, whenRead } from './page.ts';
import { PlaceLink, useJump } from './places.tsx';
import { Section } from '../shared/section.tsx';
import { JsonView } from '../shared/values.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly head: PageHead;
  readonly row: PageRow | undefined;
  readonly index: number;
  readonly address: Address;
  readonly position: number;
  readonly of: number;
  readonly onMove: (by: number) => void;
}

export function CaseDetail({ head, row, index, address, position, of, onMove }: Props) {
  const data = useCase(index);
  useJump(address.at, data !== undefined);
  useEffect(() => {
    if (!address.at) document.querySelector('main')?.scrollTo({ top: 0 });
  }, []);
  return (
    <article class="detail" aria-labelledby="case-title">
      <div class="steps">
        <a href={hashOf(address, { case: '', at: '' })}>
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
      {row ? <Body head={head} row={row} data={data} address={address} /> : <NoSuchCase id={address.case} />}
    </article>
  );
}

/** The page may still be loading the case. */
function useCase(index: number): PageCase | null | undefined {
  const read = (): PageCase | null | undefined => caseAt(index) ?? (isRead() ? null : undefined);
  const [data, setData] = useState(read);
  useEffect(() => {
    if (data === undefined) whenRead(() => setData(read()));
  }, []);
  return data;
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
        <Full data={data} address={address} isRun={isRun} />
      ) : (
        <p class="empty">{data === null ? <OnlyRow row={row} /> : 'Loading the case …'}</p>
      )}
    </>
  );
}

function OnlyRow({ row }: { readonly row: PageRow }) {
  return (
    <>
      {row[11] && (
        <>
          <Text value={row[11]} />{' '}
        </>
      )}
      This page has only a row for this case. Its documents are <code>{row[0]}.json</code> in the run folders.
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

function Full({
  data,
  address,
  isRun,
}: {
  readonly data: PageCase;
  readonly address: Address;
  readonly isRun: boolean;
}) {
  return (
    <>
      {data.cuts.length > 0 && <p class="note">{data.cuts.join(' ')}</p>}
      <Asked data={data} />
      <Changes data={data} />
      <Assertions data={data} address={address} />
      <RootCause data={data} address={address} />
      <AgentRuns data={data} isRun={isRun} />
      <Events data={data} address={address} isRun={isRun} />
      <Output data={data} isRun={isRun} />
      <Actions data={data} isRun={isRun} />
      <TrialTable data={data} isRun={isRun} />
      <Attempts data={data} isRun={isRun} />
      {data.expected !== null && (
        <Section title="Expected">
          <JsonView value={data.expected} />
        </Section>
      )}
    </>
  );
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

/** How the case changed since the baseline. The two sides then ran different versions of it. */
function Changes({ data: { changes } }: { readonly data: PageCase }) {
  if (changes.length === 0) return null;
  return (
    <Section title="Changed since the baseline">
      <ul class="changes">
        {changes.map(line => (
          <li key={line}>
            <Text value={line} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Assertions({ data, address }: { readonly data: PageCase; readonly address: Address }) {
  const failing = data.assertions.filter(({ status }) => status === 'fail');
  const others = data.assertions.filter(({ status }) => status !== 'fail');
  if (data.assertions.length === 0) return null;
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
