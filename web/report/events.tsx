import { useMemo, useState } from 'preact/hooks';
import type { OmittedSteps, PageCase, PageStep, ShownStep } from '../../src/reports/page-data.ts';
import type { Address } from './address.ts';
import { firstDivergence, folded, isDifference, isOmitted, placesOf, stepsOfCase } from './align.ts';
import { EventRow } from './event-row.tsx';
import { count, milliseconds, plural } from '../shared/format.ts';
import { Failure } from './failure.tsx';
import { Icon } from '../shared/marks.tsx';
import { LatencyNote } from './repairs.tsx';
import { Section } from '../shared/section.tsx';
import { type SideReader, sideReader } from './step-view.ts';

interface Props {
  readonly data: PageCase;
  readonly address: Address;
  readonly isRun: boolean;
}

/** The steps of both sides, aligned as the judge aligns them, and on one time axis. Equal steps are folded. */
export function Events({ data, address, isRun }: Props) {
  const scene = useMemo(() => sceneOf(data, isRun), [data, isRun]);
  if (scene.steps.length === 0) return <Failure data={data} isRun={isRun} />;
  return (
    <>
      <Failure data={data} isRun={isRun} />
      <Section title="Events" note={noteOf(scene)}>
        <LatencyNote data={data} />
        <Axis scene={scene} />
        <ol class="stream" data-timed={scene.axisMs !== null}>
          {scene.items.map(item =>
            'rows' in item ? (
              <Fold key={`fold ${item.at}`} rows={item.rows} at={item.at} scene={scene} address={address} />
            ) : isOmitted(item.step) ? (
              <Omitted key={item.at} step={item.step} at={item.at} scene={scene} address={address} />
            ) : (
              <EventRow key={item.at} row={item.step} at={item.at} scene={scene} address={address} />
            ),
          )}
        </ol>
      </Section>
    </>
  );
}

/** Everything that the rows of a case share. */
export interface Scene {
  readonly data: PageCase;
  /** Whether only one side has steps: a run, or a side without an answer. */
  readonly isOneSided: boolean;
  readonly isRun: boolean;
  readonly steps: readonly PageStep[];
  readonly items: ReturnType<typeof folded>;
  /** The index of the first divergence among the steps, or -1. */
  readonly first: number;
  readonly readers: { readonly baseline: SideReader; readonly candidate: SideReader };
  /** The length of the time axis; null if no side has known times. */
  readonly axisMs: number | null;
  /** Whether a row stands out: it differs, or with one side, it failed or an expectation cites it. */
  readonly standsOut: (row: ShownStep) => boolean;
}

function sceneOf(data: PageCase, isRun: boolean): Scene {
  const steps = stepsOfCase(data, isRun);
  const readers = { baseline: sideReader(isRun ? null : data.baseline), candidate: sideReader(data.new) };
  const rows = steps.filter(isShown);
  const isOneSided = ['baseline' as const, 'candidate' as const].some(side =>
    rows.every(row => row[side].length === 0),
  );
  const first = isOneSided ? -1 : firstDivergence(steps, data);
  const cited = new Set(
    data.assertions.flatMap(({ at, status }) => (status === 'fail' && at ? `new:${at.replace(/\].*/, ']')}` : [])),
  );
  const standsOut = (row: ShownStep): boolean =>
    isOneSided ? isTrouble(row, readers) || placesOf(row).some(place => cited.has(place)) : isDifference(row);
  const lasts = [readers.baseline.lastsMs, readers.candidate.lastsMs].filter(ms => ms !== null);
  return {
    data,
    isOneSided,
    isRun,
    steps,
    items: folded(steps, (row, index) => index === first || standsOut(row)),
    first,
    readers,
    axisMs: lasts.length === 0 ? null : Math.max(...lasts),
    standsOut,
  };
}

function isTrouble({ baseline, candidate }: ShownStep, readers: Scene['readers']): boolean {
  const views = [readers.baseline.view(baseline), readers.candidate.view(candidate)];
  return views.some(view => view?.status === 'error' || view?.status === 'no result');
}

const isShown = (step: PageStep): step is ShownStep => !isOmitted(step);

function noteOf({ data, isOneSided, isRun, steps }: Scene): string {
  const rows = steps.filter(isShown);
  const isWhole = rows.length === steps.length;
  if (isRun) return isWhole ? plural(rows.length, 'step') : `${plural(rows.length, 'step')} shown`;
  if (isOneSided) return `only ${data.new?.events?.length ? 'the candidate' : 'the baseline'} has events`;
  const differing = rows.filter(isDifference).length;
  if (!isWhole)
    return `${count(differing)} of ${plural(rows.length, 'shown step')} ${differing === 1 ? 'differs' : 'differ'}`;
  if (differing === 0) return 'the same on both sides';
  return `${count(differing)} of ${plural(rows.length, 'step')} ${differing === 1 ? 'differs' : 'differ'}`;
}

/** The scale of the time axis, and which bar belongs to which side. */
function Axis({ scene: { isOneSided, axisMs } }: { readonly scene: Scene }) {
  if (axisMs === null) return null;
  return (
    <div class="axis" aria-hidden="true">
      {!isOneSided && (
        <span class="legend">
          <span data-side="baseline">Baseline</span>
          <span data-side="candidate">Candidate</span>
        </span>
      )}
      <span class="scale" title="Time since the first event">
        <span>0</span>
        <span>{milliseconds(axisMs)}</span>
      </span>
    </div>
  );
}

interface FoldProps {
  readonly rows: readonly ShownStep[];
  readonly at: number;
  readonly scene: Scene;
  readonly address: Address;
}

/** Steps in one row until the reader opens them, or follows a link to one of them. */
function Fold({ rows, at, scene, address }: FoldProps) {
  const places = rows.flatMap(placesOf);
  const isCited = places.includes(address.at.replace(/\].*/, ']'));
  const [chosen, choose] = useState<boolean>();
  const isOpen = chosen ?? isCited;
  const failed = rows.filter(row => isTrouble(row, scene.readers)).length;
  const what = scene.isOneSided ? plural(rows.length, 'step') : plural(rows.length, 'equal step');
  return (
    <>
      <li class="fold" data-at={isOpen ? undefined : places.join(' ')} tabIndex={-1}>
        <button type="button" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
          <Icon path={isOpen ? 'M4 6.5 8 10.5 12 6.5' : 'M6 4 10 8 6 12'} />
          {what}
          {failed > 0 && <span class="muted">{count(failed)} of them failed</span>}
        </button>
      </li>
      {isOpen &&
        rows.map((row, index) => (
          <EventRow key={at + index} row={row} at={at + index} scene={scene} address={address} />
        ))}
    </>
  );
}

interface OmittedProps extends Pick<FoldProps, 'at' | 'scene' | 'address'> {
  readonly step: OmittedSteps;
}

function Omitted({ step: { omitted, differing }, at, scene, address }: OmittedProps) {
  const { baseline, candidate } = omitted;
  const sides = scene.isRun
    ? plural(candidate, 'event')
    : [
        ...(baseline > 0 ? [`${plural(baseline, 'event')} of the baseline`] : []),
        ...(candidate > 0 ? [`${plural(candidate, 'event')} of the candidate`] : []),
      ].join(' and ');
  const isOne = baseline + candidate === 1;
  return (
    <li class="omitted" data-at={isBetween(scene, at, address.at) ? address.at : undefined} tabIndex={-1}>
      {sides} {isOne ? 'is' : 'are'} not on this page.
      {!scene.isOneSided && differing !== null && ` ${differingText(differing)}`}
    </li>
  );
}

function differingText(differing: number): string {
  if (differing === 0) return 'No step among them differs.';
  return `${plural(differing, 'step')} among them ${differing === 1 ? 'differs' : 'differ'}.`;
}

/** Whether a link leads to an event that is missing at this point. */
function isBetween({ steps }: Scene, at: number, place: string): boolean {
  const [, side, index] = /^(baseline|new):events\[(\d+)\]/.exec(place) ?? [];
  if (index === undefined) return false;
  const indicesOf = (step: PageStep | undefined): readonly number[] =>
    step && !isOmitted(step) ? (side === 'new' ? step.candidate : step.baseline) : [];
  const before = steps.slice(0, at).findLast(step => indicesOf(step).length > 0);
  const after = steps.slice(at + 1).find(step => indicesOf(step).length > 0);
  return (indicesOf(before).at(-1) ?? -1) < Number(index) && Number(index) < (indicesOf(after)[0] ?? Infinity);
}
