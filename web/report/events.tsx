import { useMemo } from 'preact/hooks';
import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import type { Address } from './address.ts';
import { align, type Pair, toolsOf } from './align.ts';
import { milliseconds, plural } from './format.ts';
import { Icon } from './marks.tsx';
import { textOf } from './value-diff.ts';
import { JsonView, ValueDiff } from './values.tsx';
import { Section, SideTitles } from './section.tsx';
import { Text } from './visible.tsx';

interface Props {
  readonly data: PageCase;
  readonly address: Address;
  readonly isRun: boolean;
}

/** What both agents did, step by step, side by side. */
export function Events({ data, isRun }: Props) {
  const old = eventsOf(data.baseline);
  const young = eventsOf(data.new);
  const pairs = useMemo(() => (isRun ? young.map((_, index) => ({ baseline: null, fresh: index, same: true })) : align(old, young)), [data]);
  const first = isRun ? -1 : firstDivergence(pairs, data);
  if (pairs.length === 0) return <Failure data={data} isRun={isRun} />;
  const differing = pairs.filter(({ same }) => !same).length;
  return (
    <>
      <Failure data={data} isRun={isRun} />
      <Section title="Events" note={isRun ? plural(young.length, 'step') : differing === 0 ? 'the same on both sides' : `${plural(differing, 'step differs', 'steps differ')} of ${pairs.length}`}>
        {!isRun && <SideTitles />}
        <ol class={isRun ? 'events run' : 'events'}>
          {pairs.map((pair, index) => (
            <Row key={index} pair={pair} data={data} isFirst={index === first} isRun={isRun} />
          ))}
        </ol>
      </Section>
    </>
  );
}

const eventsOf = (artifact: CaseArtifact | null): readonly Event[] => artifact?.events ?? [];

/** Where the comparison saw it, else the first row whose sides differ. */
function firstDivergence(pairs: readonly Pair[], { divergence }: PageCase): number {
  const cited = pairs.findIndex(
    ({ baseline, fresh }) =>
      (baseline !== null && divergence?.baseline_at === `events[${baseline}]`) ||
      (fresh !== null && divergence?.new_at === `events[${fresh}]`),
  );
  return cited >= 0 ? cited : pairs.findIndex(({ same }) => !same);
}

interface RowProps {
  readonly pair: Pair;
  readonly data: PageCase;
  readonly isFirst: boolean;
  readonly isRun: boolean;
}

function Row({ pair, data, isFirst, isRun }: RowProps) {
  const { baseline, fresh, same } = pair;
  const old = baseline === null ? undefined : eventsOf(data.baseline)[baseline];
  const young = fresh === null ? undefined : eventsOf(data.new)[fresh];
  const places = [...(old ? [`baseline:events[${baseline}]`] : []), ...(young ? [`new:events[${fresh}]`] : [])];
  const how = same ? 'same' : old && young ? 'changed' : old ? 'gone' : 'added';
  return (
    <li class="event" data-how={how} data-first={isFirst} data-at={places.join(' ')} tabIndex={-1}>
      {isFirst && (
        <p class="divergence">
          <Icon path="M4 14V2.5h8L9.5 5.5 12 8.5H4" />
          First divergence
        </p>
      )}
      {old && young && !same ? (
        <>
          <Title event={young} data={data} side="new" at={`${baseline} → ${fresh}`} word="differs" />
          <ValueDiff baseline={tellingOf(old)} fresh={tellingOf(young)} />
          <Whole old={old} young={young} />
        </>
      ) : same ? (
        <details>
          <summary>
            <Title event={(young ?? old) as Event} data={data} side={young ? 'new' : 'baseline'} at={isRun || baseline === fresh ? `${fresh}` : `${baseline} → ${fresh}`} />
          </summary>
          <JsonView value={young ?? old} />
          <Asset event={young} data={data} side="new" />
        </details>
      ) : (
        <div class="lone" data-side={old ? 'baseline' : 'new'}>
          <div class="there">
            <Title event={(old ?? young) as Event} data={data} side={old ? 'baseline' : 'new'} at={`${baseline ?? fresh}`} word={old ? 'only in baseline' : 'only in new'} />
            <JsonView value={tellingOf((old ?? young) as Event)} />
          </div>
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
}

function Title({ event, data, side, at, word }: TitleProps) {
  const { type, tool, call_id, status, query, doc_ids, latency_ms, args, content } = event as Record<string, unknown>;
  const name = typeof tool === 'string' ? tool : toolsOf(eventsOf(data[side])).get(call_id);
  const tells =
    type === 'tool_call' ? textOf(args) : type === 'retrieval' ? `“${String(query)}” ${Array.isArray(doc_ids) ? doc_ids.join(', ') : ''}` : type === 'final_output' ? (typeof content === 'string' ? content : textOf(content)) : '';
  return (
    <span class="event-title">
      <span class="at">{at}</span>
      <span class="type">{String(type).replaceAll('_', ' ')}</span>
      {name !== undefined && (
        <strong>
          <Text value={name} />
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

/** What an event says, without what is made up anew in every run. */
function tellingOf(event: Event): unknown {
  const { type: _type, ts: _ts, id: _id, call_id: _call, action_id: _action, latency_ms: _latency, ...rest } = event as Record<string, unknown>;
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

/** The small files that an event refers to. */
function Asset({ event, data, side }: { readonly event: Event | undefined; readonly data: PageCase; readonly side: 'baseline' | 'new' }) {
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

/** What a case has instead of events when it could not be run. */
function Failure({ data, isRun }: { readonly data: PageCase; readonly isRun: boolean }) {
  const sides = (isRun ? (['new'] as const) : (['baseline', 'new'] as const)).flatMap(side => {
    const failure = data[side]?.runner_failure;
    return failure ? [{ side, failure }] : [];
  });
  if (sides.length === 0) return null;
  return (
    <Section title="No answer that could be judged">
      {sides.map(({ side, failure }) => {
        const { class: name, status, status_text, error_message, latency_ms, timeout_ms, body_snippet, full_body_saved_to: href } = failure;
        const body = (href && data.assets[side][href]) || body_snippet;
        return (
          <div class="failure" key={side} data-at={`${side}:runner_failure`} tabIndex={-1}>
            <p>
              <span class="tag">{side}</span> <strong>{name.replaceAll('_', ' ')}</strong>{' '}
              {[status && `HTTP ${status} ${status_text ?? ''}`.trim(), error_message, latency_ms !== undefined && `after ${milliseconds(latency_ms)}`, timeout_ms !== undefined && `limit ${milliseconds(timeout_ms)}`]
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
