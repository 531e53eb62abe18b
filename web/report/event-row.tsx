import { useState } from 'preact/hooks';
import type { ShownStep } from '../../src/reports/page-data.ts';
import type { Address } from './address.ts';
import { placesOf } from './align.ts';
import type { Scene } from './events.tsx';
import { milliseconds, plural } from '../shared/format.ts';
import { Flag } from '../shared/marks.tsx';
import { PlaceLink } from './places.tsx';
import { StepBody } from './step-body.tsx';
import type { StepView } from './step-view.ts';
import { Text } from '../shared/visible.tsx';
import { useIsPrinted } from '../shared/print.ts';

export interface RowProps {
  readonly row: ShownStep;
  /** Its index among the steps. */
  readonly at: number;
  readonly scene: Scene;
  readonly address: Address;
}

/** The two sides of a row; null for a side without this step. */
export interface Views {
  readonly baseline: StepView | null;
  readonly candidate: StepView | null;
}

/** One step: a line with tool, arguments, status and time. Opening it shows the full arguments and the result. */
export function EventRow({ row, at, scene, address }: RowProps) {
  const isFirst = at === scene.first;
  const [isOpened, setOpened] = useState(isFirst);
  const isPrinted = useIsPrinted();
  const isOpen = isOpened || isPrinted;
  const views: Views = {
    baseline: scene.readers.baseline.view(row.baseline),
    candidate: scene.readers.candidate.view(row.candidate),
  };
  return (
    <li
      class="event"
      data-how={scene.isOneSided ? 'alone' : row.how}
      data-first={isFirst}
      data-differs={isFirst || scene.standsOut(row)}
      data-at={placesOf(row).join(' ')}
      tabIndex={-1}
    >
      {isFirst && (
        <p class="divergence">
          <Flag />
        </p>
      )}
      <details open={isOpen} onToggle={event => !isPrinted && setOpened(event.currentTarget.open)}>
        <summary>
          <Line row={row} views={views} scene={scene} />
        </summary>
        {isOpen && <StepBody row={row} views={views} scene={scene} address={address} />}
      </details>
      {row.elsewhere !== undefined && <Elsewhere row={row} address={address} />}
    </li>
  );
}

function Line({ row, views, scene }: Pick<RowProps, 'row' | 'scene'> & { readonly views: Views }) {
  const { baseline, candidate } = views;
  const word = scene.isOneSided ? undefined : wordOf(row, views);
  const isEqual = scene.isOneSided || row.how === 'same' || row.how === 'passing';
  return (
    <span class="line" data-equal={isEqual}>
      <span class="at">
        <span class="unseen">Event </span>
        <Numbers row={row} />
      </span>
      {isEqual ? (
        <Side view={candidate ?? baseline} />
      ) : (
        <span class="both">
          <Side view={baseline} name="Baseline" elsewhere={row.elsewhere} />
          <Side view={candidate} name="Candidate" elsewhere={row.elsewhere} />
        </span>
      )}
      {word && <span class="how">{word}</span>}
      <Took views={views} />
      {scene.axisMs !== null && <Lanes views={views} scene={scene} axisMs={scene.axisMs} />}
    </span>
  );
}

/** One side's call in one line. */
function Side({
  view,
  name,
  elsewhere,
}: {
  readonly view: StepView | null;
  readonly name?: string;
  readonly elsewhere?: number | undefined;
}) {
  if (!view)
    return (
      <span class="one nothing">
        <span class="unseen">{name}: </span>
        {elsewhere === undefined ? 'no such step' : `at event ${elsewhere}`}
      </span>
    );
  const { type, tool, tells, status, attempts } = view;
  return (
    <span class="one" data-side={name}>
      {name && (
        <span class="side-name">
          {name}
          <span class="unseen">: </span>
        </span>
      )}
      <span class="type">{type}</span>
      {tool !== undefined && (
        <strong>
          <Text value={tool} />
        </strong>
      )}
      {tells && (
        <span class="tells">
          <Text value={tells} />
        </span>
      )}
      {attempts > 1 && <span class="status">{plural(attempts, 'attempt')}</span>}
      {status && <span class={status === 'ok' ? 'status' : 'status bad'}>{status}</span>}
    </span>
  );
}

/** The index of the first event: "36", or "42 → 40" if the sides differ. */
function Numbers({ row: { baseline, candidate } }: Pick<RowProps, 'row'>) {
  const [was, is] = [baseline[0], candidate[0]];
  if (was === undefined || is === undefined || was === is) return <>{was ?? is}</>;
  return (
    <>
      <span class="was">{was} → </span>
      {is}
    </>
  );
}

function wordOf({ how }: ShownStep, { baseline, candidate }: Views): string | undefined {
  const isAnswer = candidate?.type === 'final output';
  if (how === 'outcome' && baseline && candidate && baseline.attempts !== candidate.attempts) return 'retries differ';
  if (how === 'outcome') return isAnswer ? 'answer differs' : 'result differs';
  if (how === 'changed')
    return candidate?.type === 'call' ? 'arguments differ' : isAnswer ? 'answer differs' : 'differs';
  if (how === 'replaced' && baseline?.type === 'call' && candidate?.type === 'call') return 'another tool';
  return WORDS[how];
}

const WORDS: Readonly<Record<ShownStep['how'], string | undefined>> = {
  same: undefined,
  passing: 'other ids or times',
  outcome: 'result differs',
  changed: 'differs',
  replaced: 'another step',
  moved: 'moved',
  gone: 'only in baseline',
  added: 'only in candidate',
  ignored: 'not compared',
};

/** The measured durations: "130 ms", or "130 ms → 1.2 s" if they differ visibly. */
function Took({ views: { baseline, candidate } }: { readonly views: Views }) {
  const [was, is] = [baseline, candidate].map(view =>
    typeof view?.tookMs === 'number' ? milliseconds(view.tookMs) : null,
  );
  if (!was && !is) return <span class="took" />;
  return <span class="took">{was && is && was !== is ? `${was} → ${is}` : (is ?? was)}</span>;
}

/** When each side made this step, on the time axis that all rows share. */
function Lanes({ views, scene, axisMs }: { readonly views: Views; readonly scene: Scene; readonly axisMs: number }) {
  const sides = scene.isOneSided ? [views.candidate ? 'candidate' : 'baseline'] : ['baseline', 'candidate'];
  return (
    <span class="lanes" aria-hidden="true">
      {sides.map(side => {
        const span = views[side as keyof Views]?.span;
        return (
          <span class="lane" key={side} data-side={side}>
            {span && (
              <span
                class={span.to > span.from ? 'spent' : 'spent tick'}
                style={{
                  left: `${percent(span.from, axisMs)}%`,
                  width: span.to > span.from ? `${percent(span.to - span.from, axisMs)}%` : undefined,
                }}
              />
            )}
          </span>
        );
      })}
    </span>
  );
}

const percent = (ms: number, axisMs: number): number => Math.min(100, Math.round((ms / axisMs) * 10_000) / 100);

/** The counterpart of a step that the other side made at another point. */
function Elsewhere({ row, address }: Pick<RowProps, 'row' | 'address'>) {
  const isBaseline = row.baseline.length > 0;
  return (
    <p class="note elsewhere">
      {isBaseline ? 'The candidate' : 'The baseline'}{' '}
      {row.how === 'moved' ? 'made this call at another point:' : 'has its counterpart at another point:'}{' '}
      <PlaceLink place={`${isBaseline ? 'new' : 'baseline'}:events[${row.elsewhere}]`} address={address} />
    </p>
  );
}
