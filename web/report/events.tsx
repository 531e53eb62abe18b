import { useMemo } from 'preact/hooks';
import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import type { Address } from './address.ts';
import { align, type Pair, toolsOf } from './align.ts';
import { count, milliseconds, plural } from '../shared/format.ts';
import { Failure } from './failure.tsx';
import { Flag } from '../shared/marks.tsx';
import { PlaceLink } from './places.tsx';
import { isLatencyRepaired, LatencyNote } from './repairs.tsx';
import { textOf } from '../shared/value-diff.ts';
import { JsonView, ValueDiff } from '../shared/values.tsx';
import { Section, SideTitles } from '../shared/section.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly data: PageCase;
  readonly address: Address;
  readonly isRun: boolean;
}

export function Events({ data, address, isRun }: Props) {
  const baseline = eventsOf(data.baseline);
  const candidate = eventsOf(data.new);
  const pairs = useMemo(
    () =>
      isRun
        ? candidate.map((_, index) => ({ baseline: null, candidate: index, same: true }))
        : align(baseline, candidate),
    [data],
  );
  // A side without events diverges from the start; its failure says more.
  const first = isRun || baseline.length === 0 || candidate.length === 0 ? -1 : firstDivergence(pairs, data);
  if (pairs.length === 0) return <Failure data={data} isRun={isRun} />;
  const differing = pairs.filter(({ same }) => !same).length;
  return (
    <>
      <Failure data={data} isRun={isRun} />
      <Section
        title="Events"
        note={
          isRun
            ? plural(candidate.length, 'step')
            : differing === 0
              ? 'the same on both sides'
              : baseline.length === 0 || candidate.length === 0
                ? `only ${baseline.length === 0 ? 'the candidate' : 'the baseline'} has events`
                : `${count(differing)} of ${plural(pairs.length, 'step')} ${differing === 1 ? 'differs' : 'differ'}`
        }
      >
        <LatencyNote data={data} />
        {!isRun && <SideTitles />}
        <ol class={isRun ? 'events run' : 'events'}>
          {pairs.map((pair, index) => (
            <Row key={index} pair={pair} data={data} address={address} isFirst={index === first} isRun={isRun} />
          ))}
        </ol>
      </Section>
    </>
  );
}

const eventsOf = (artifact: CaseArtifact | null): readonly Event[] => artifact?.events ?? [];

/** The divergence that the comparison reports, or else the first row that differs. None if the answers differ first. */
function firstDivergence(pairs: readonly Pair[], { divergence }: PageCase): number {
  if (divergence?.baseline_at === 'final_output' && divergence.new_at === 'final_output') return -1;
  const cited = pairs.findIndex(
    ({ baseline, candidate }) =>
      (baseline !== null && divergence?.baseline_at === `events[${baseline}]`) ||
      (candidate !== null && divergence?.new_at === `events[${candidate}]`),
  );
  return cited >= 0 ? cited : pairs.findIndex(({ same }) => !same);
}

interface RowProps extends Props {
  readonly pair: Pair;
  readonly isFirst: boolean;
}

function Row({ pair, data, address, isFirst, isRun }: RowProps) {
  const { baseline, candidate, same } = pair;
  const baselineEvent = baseline === null ? undefined : eventsOf(data.baseline)[baseline];
  const candidateEvent = candidate === null ? undefined : eventsOf(data.new)[candidate];
  const places = [
    ...(baselineEvent ? [`baseline:events[${baseline}]`] : []),
    ...(candidateEvent ? [`new:events[${candidate}]`] : []),
  ];
  const how = same ? 'same' : baselineEvent && candidateEvent ? 'changed' : baselineEvent ? 'gone' : 'added';
  const at = isRun || baseline === candidate ? `${candidate}` : `${baseline} → ${candidate}`;
  const of = { pair, data, baselineEvent, candidateEvent };
  return (
    <li class="event" data-how={how} data-first={isFirst} data-at={places.join(' ')} tabIndex={-1}>
      {isFirst && (
        <p class="divergence">
          <Flag />
        </p>
      )}
      {same ? (
        <SameEvent {...of} at={at} />
      ) : baselineEvent && candidateEvent ? (
        <ChangedEvent {...of} baselineEvent={baselineEvent} candidateEvent={candidateEvent} address={address} />
      ) : (
        <LoneEvent {...of} isFirst={isFirst} />
      )}
    </li>
  );
}

interface EventProps extends Pick<RowProps, 'pair' | 'data'> {
  readonly baselineEvent: Event | undefined;
  readonly candidateEvent: Event | undefined;
}

function SameEvent({ data, baselineEvent, candidateEvent, at }: EventProps & { readonly at: string }) {
  return (
    <details>
      <summary>
        <Title
          event={(candidateEvent ?? baselineEvent) as Event}
          data={data}
          side={candidateEvent ? 'new' : 'baseline'}
          at={at}
        />
      </summary>
      <JsonView value={candidateEvent ?? baselineEvent} />
      <Asset event={candidateEvent} data={data} side="new" />
    </details>
  );
}

interface ChangedProps extends Pick<RowProps, 'pair' | 'data' | 'address'> {
  readonly baselineEvent: Event;
  readonly candidateEvent: Event;
}

function ChangedEvent({ pair, data, address, baselineEvent, candidateEvent }: ChangedProps) {
  return (
    <>
      <Title
        event={candidateEvent}
        data={data}
        side="new"
        at={`${pair.baseline} → ${pair.candidate}`}
        word="differs"
        otherTool={nameOf(baselineEvent, data, 'baseline')}
      />
      {isShownBelow(baselineEvent, data.baseline) && isShownBelow(candidateEvent, data.new) ? (
        <p class="note">
          The answers differ; see the output below. <PlaceLink place="new:final_output" address={address} isPlain />
        </p>
      ) : (
        <ValueDiff baseline={tellingOf(baselineEvent)} candidate={tellingOf(candidateEvent)} />
      )}
      <Whole baselineEvent={baselineEvent} candidateEvent={candidateEvent} />
    </>
  );
}

/** An event that only one side has. */
function LoneEvent({ pair, data, baselineEvent, candidateEvent, isFirst }: EventProps & Pick<RowProps, 'isFirst'>) {
  const event = (baselineEvent ?? candidateEvent) as Event;
  const side = baselineEvent ? 'baseline' : 'new';
  return (
    <div class="lone" data-side={side}>
      <details class="there" open={isFirst}>
        <summary>
          <Title
            event={event}
            data={data}
            side={side}
            at={`${pair.baseline ?? pair.candidate}`}
            word={baselineEvent ? 'only in baseline' : 'only in candidate'}
          />
        </summary>
        <JsonView value={tellingOf(event)} />
      </details>
      <p class="nothing">no such step</p>
    </div>
  );
}

interface TitleProps {
  readonly event: Event;
  readonly data: PageCase;
  readonly side: 'baseline' | 'new';
  readonly at: string;
  readonly word?: string;
  /** The tool that the other side used instead. */
  readonly otherTool?: string | undefined;
}

function Title({ event, data, side, at, word, otherTool }: TitleProps) {
  const { type, status, query, doc_ids, latency_ms, args, content } = event as Record<string, unknown>;
  const name = nameOf(event, data, side);
  const tells =
    type === 'tool_call'
      ? textOf(args)
      : type === 'retrieval'
        ? `“${String(query)}” ${Array.isArray(doc_ids) ? doc_ids.join(', ') : ''}`
        : type === 'final_output'
          ? typeof content === 'string'
            ? content
            : textOf(content)
          : '';
  return (
    <span class="event-title">
      <span class="at">{at}</span>
      <span class="type">{String(type).replaceAll('_', ' ')}</span>
      {name !== undefined && (
        <strong>
          <Text value={otherTool === undefined || otherTool === name ? name : `${otherTool} → ${name}`} />
        </strong>
      )}
      {typeof status === 'string' && <span class={status === 'ok' ? 'status' : 'status bad'}>{status}</span>}
      {word && <span class="how">{word}</span>}
      {!word && tells && (
        <span class="tells">
          <Text value={tells.slice(0, 200)} />
        </span>
      )}
      {typeof latency_ms === 'number' && !isLatencyRepaired(data[side]) && (
        <span class="took">{milliseconds(latency_ms)}</span>
      )}
    </span>
  );
}

function nameOf(event: Event, data: PageCase, side: 'baseline' | 'new'): string | undefined {
  const { tool, call_id } = event as Record<string, unknown>;
  return typeof tool === 'string' ? tool : toolsOf(eventsOf(data[side])).get(call_id);
}

/** Hides the answer event, because the output section shows it. */
function isShownBelow(event: Event, artifact: CaseArtifact | null): boolean {
  return (
    event.type === 'final_output' &&
    JSON.stringify(event['content']) === JSON.stringify(artifact?.final_output?.content)
  );
}

/** The event without times and generated ids. */
function tellingOf(event: Event): unknown {
  const {
    type: _type,
    ts: _ts,
    id: _id,
    call_id: _call,
    action_id: _action,
    latency_ms: _latency,
    ...rest
  } = event as Record<string, unknown>;
  return rest;
}

function Whole({ baselineEvent, candidateEvent }: { readonly baselineEvent: Event; readonly candidateEvent: Event }) {
  return (
    <details class="equal">
      <summary>Both events as they were recorded</summary>
      <div class="sides">
        <JsonView value={baselineEvent} />
        <JsonView value={candidateEvent} />
      </div>
    </details>
  );
}

function Asset({
  event,
  data,
  side,
}: {
  readonly event: Event | undefined;
  readonly data: PageCase;
  readonly side: 'baseline' | 'new';
}) {
  const { payload_asset_href, snippets_asset_href } = (event ?? {}) as Record<string, unknown>;
  return (
    <>
      {[payload_asset_href, snippets_asset_href].map(href => {
        const text = typeof href === 'string' ? data.assets[side][href] : undefined;
        return text === undefined ? null : <JsonView key={String(href)} value={text} />;
      })}
    </>
  );
}
