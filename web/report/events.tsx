import { useMemo } from 'preact/hooks';
import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import type { Address } from './address.ts';
import { align, type Pair, toolsOf } from './align.ts';
import { count, milliseconds, plural } from './format.ts';
import { Flag } from './marks.tsx';
import { PlaceLink } from './places.tsx';
import { textOf } from './value-diff.ts';
import { JsonView, ValueDiff } from './values.tsx';
import { Section, SideTitles } from './section.tsx';
import { Text } from './visible.tsx';

interface Props {
  readonly data: PageCase;
  readonly address: Address;
  readonly isRun: boolean;
}

/** The events of both sides, step by step. */
export function Events({ data, address, isRun }: Props) {
  const old = eventsOf(data.baseline);
  const young = eventsOf(data.new);
  const pairs = useMemo(
    () => (isRun ? young.map((_, index) => ({ baseline: null, fresh: index, same: true })) : align(old, young)),
    [data],
  );
  // A side without events diverges from the start; its failure says more.
  const first = isRun || old.length === 0 || young.length === 0 ? -1 : firstDivergence(pairs, data);
  if (pairs.length === 0) return <Failure data={data} isRun={isRun} />;
  const differing = pairs.filter(({ same }) => !same).length;
  return (
    <>
      <Failure data={data} isRun={isRun} />
      <Section
        title="Events"
        note={
          isRun
            ? plural(young.length, 'step')
            : differing === 0
              ? 'the same on both sides'
              : old.length === 0 || young.length === 0
                ? `only ${old.length === 0 ? 'new' : 'baseline'} has any`
                : `${count(differing)} of ${plural(pairs.length, 'step')} ${differing === 1 ? 'differs' : 'differ'}`
        }
      >
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
    ({ baseline, fresh }) =>
      (baseline !== null && divergence?.baseline_at === `events[${baseline}]`) ||
      (fresh !== null && divergence?.new_at === `events[${fresh}]`),
  );
  return cited >= 0 ? cited : pairs.findIndex(({ same }) => !same);
}

interface RowProps extends Props {
  readonly pair: Pair;
  readonly isFirst: boolean;
}

function Row({ pair, data, address, isFirst, isRun }: RowProps) {
  const { baseline, fresh, same } = pair;
  const old = baseline === null ? undefined : eventsOf(data.baseline)[baseline];
  const young = fresh === null ? undefined : eventsOf(data.new)[fresh];
  const places = [...(old ? [`baseline:events[${baseline}]`] : []), ...(young ? [`new:events[${fresh}]`] : [])];
  const how = same ? 'same' : old && young ? 'changed' : old ? 'gone' : 'added';
  return (
    <li class="event" data-how={how} data-first={isFirst} data-at={places.join(' ')} tabIndex={-1}>
      {isFirst && (
        <p class="divergence">
          <Flag />
        </p>
      )}
      {old && young && !same ? (
        <>
          <Title
            event={young}
            data={data}
            side="new"
            at={`${baseline} → ${fresh}`}
            word="differs"
            before={nameOf(old, data, 'baseline')}
          />
          {isShownBelow(old, data.baseline) && isShownBelow(young, data.new) ? (
            <p class="note">
              The answers differ; both stand further down.{' '}
              <PlaceLink place="new:final_output" address={address} isPlain />
            </p>
          ) : (
            <ValueDiff baseline={tellingOf(old)} fresh={tellingOf(young)} />
          )}
          <Whole old={old} young={young} />
        </>
      ) : same ? (
        <details>
          <summary>
            <Title
              event={(young ?? old) as Event}
              data={data}
              side={young ? 'new' : 'baseline'}
              at={isRun || baseline === fresh ? `${fresh}` : `${baseline} → ${fresh}`}
            />
          </summary>
          <JsonView value={young ?? old} />
          <Asset event={young} data={data} side="new" />
        </details>
      ) : (
        <div class="lone" data-side={old ? 'baseline' : 'new'}>
          <details class="there" open={isFirst}>
            <summary>
              <Title
                event={(old ?? young) as Event}
                data={data}
                side={old ? 'baseline' : 'new'}
                at={`${baseline ?? fresh}`}
                word={old ? 'only in baseline' : 'only in new'}
              />
            </summary>
            <JsonView value={tellingOf((old ?? young) as Event)} />
          </details>
          <p class="nothing">no such step</p>
        </div>
      )}
    </li>
  );
}

interface TitleProps {
  readonly event: Event;
  readonly data: PageCase;
  readonly side: 'baseline' | 'new';
  readonly at: string;
  readonly word?: string;
  /** The tool that the other side used instead. */
  readonly before?: string | undefined;
}

function Title({ event, data, side, at, word, before }: TitleProps) {
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
          <Text value={before === undefined || before === name ? name : `${before} → ${name}`} />
        </strong>
      )}
      {typeof status === 'string' && <span class={status === 'ok' ? 'status' : 'status bad'}>{status}</span>}
      {word && <span class="how">{word}</span>}
      {!word && tells && (
        <span class="tells">
          <Text value={tells.slice(0, 200)} />
        </span>
      )}
      {typeof latency_ms === 'number' && <span class="took">{milliseconds(latency_ms)}</span>}
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

function Whole({ old, young }: { readonly old: Event; readonly young: Event }) {
  return (
    <details class="equal">
      <summary>Both events as they were recorded</summary>
      <div class="sides">
        <JsonView value={old} />
        <JsonView value={young} />
      </div>
    </details>
  );
}

/** The small assets that an event refers to. */
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

/** The failure that a case shows instead of events. */
function Failure({ data, isRun }: { readonly data: PageCase; readonly isRun: boolean }) {
  const sides = (isRun ? (['new'] as const) : (['baseline', 'new'] as const)).flatMap(side => {
    const failure = data[side]?.runner_failure;
    return failure ? [{ side, failure }] : [];
  });
  if (sides.length === 0) return null;
  return (
    <Section title="No answer that could be judged">
      {sides.map(({ side, failure }) => {
        const {
          class: name,
          status,
          status_text,
          error_message,
          latency_ms,
          timeout_ms,
          body_snippet,
          full_body_saved_to: href,
        } = failure;
        const body = (href && data.assets[side][href]) || body_snippet;
        return (
          <div class="failure" key={side} data-at={`${side}:runner_failure`} tabIndex={-1}>
            <p>
              <span class="tag">{side}</span> <strong>{name.replaceAll('_', ' ')}</strong>{' '}
              {[
                status && `HTTP ${status} ${status_text ?? ''}`.trim(),
                error_message,
                latency_ms !== undefined && `after ${milliseconds(latency_ms)}`,
                timeout_ms !== undefined && `limit ${milliseconds(timeout_ms)}`,
              ]
                .filter(part => typeof part === 'string' && part !== '')
                .map((part, index) => (
                  <span key={index} class="muted">
                    {index > 0 && ' · '}
                    <Text value={String(part)} />
                  </span>
                ))}
            </p>
            {body && <JsonView value={body} />}
            {href && (
              <p class="note">
                The body as it was received: <code>{href}</code>
              </p>
            )}
          </div>
        );
      })}
    </Section>
  );
}
