import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { PageHead, PageRow } from '../../src/reports/page-data.ts';
import { type Address, hrefOf } from './address.ts';
import { milliseconds, pace, tallyOf } from '../shared/format.ts';
import { KINDS, Mark } from '../shared/marks.tsx';
import type { ListedCases } from '../shared/source.ts';
import { plain, Text } from '../shared/visible.tsx';

export const ROW_PX = 80;
const SPARE_ROWS = 8;
/** The window moves by this many rows at once, so that most scroll events change nothing. */
const TOP_STEP = 4;

interface Props {
  readonly listed: ListedCases;
  readonly head: PageHead;
  readonly address: Address;
  /** The focused position. */
  readonly active: number;
  readonly listRef: RefObject<HTMLUListElement | null>;
}

/** Renders only visible rows. It follows its scroll container: a pane, or the page on a phone. */
export function CaseList({ listed, head, address, active, listRef }: Props) {
  const { length, rowAt, show } = listed;
  const [from, to] = useWindow(listRef, length);
  useEffect(() => show(from, to), [show, from, to]);
  const positions = Array.from({ length: to - from }, (_, offset) => from + offset);
  return (
    <ul class="cases" ref={listRef} style={{ height: `${length * ROW_PX}px` }}>
      {positions.map(position => {
        const row = rowAt(position);
        return (
          <li
            key={row?.[0] ?? position}
            aria-setsize={length}
            aria-posinset={position + 1}
            style={{ transform: `translateY(${position * ROW_PX}px)` }}
          >
            {row ? (
              <Row row={row} head={head} address={address} isActive={position === active} />
            ) : (
              <span class="case-wait">Loading …</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Row({
  row,
  head,
  address,
  isActive,
}: { readonly row: PageRow; readonly isActive: boolean } & Pick<Props, 'head' | 'address'>) {
  const [id, title, kind, suite, baseline, candidate, errorClass, baselineMs, candidateMs, , , why, finding, counts] =
    row;
  const isRepeated = head.kind === 'comparison' && (baseline.length > 1 || candidate.length > 1);
  const tally = isRepeated ? (counts ?? tallyOf(baseline, candidate)) : null;
  const { word, tone } = KINDS[kind];
  const error = head.error_classes[errorClass];
  const changed = pace(baselineMs, candidateMs);
  const line = why || head.suites[suite] || '';
  return (
    <a
      class="case"
      href={hrefOf(address, { case: id, at: '', view: '' })}
      aria-current={address.case === id ? 'true' : undefined}
      data-active={isActive}
      tabIndex={isActive ? 0 : -1}
    >
      <Mark kind={kind} />
      <span class="name">{title ? <Text value={title} /> : id}</span>
      <span class="change" data-much={baselineMs !== null && candidateMs !== null && candidateMs > baselineMs * 2}>
        {changed}
        {changed !== null && <span class="unseen"> than the baseline</span>}
      </span>
      <span class="line">
        <span class={`word tone-${tone}`}>{word}</span>
        {finding && (
          <span class="finding" data-as={finding}>
            {finding}
          </span>
        )}
        {tally !== null && (
          <span class="tally">
            <span class="unseen">Trials passed, baseline to candidate: </span>
            {tally}
          </span>
        )}
        {error && <span class="error-class">{error.replaceAll('_', ' ')}</span>}
        {title !== 0 && <code class="id">{id}</code>}
      </span>
      <span class="took">{candidateMs === null ? '' : milliseconds(candidateMs)}</span>
      <span class="rest" title={plain(line)}>
        {line && <Text value={line} />}
      </span>
    </a>
  );
}

/** The first visible row and the row after the last one. */
function useWindow(list: RefObject<HTMLUListElement | null>, length: number): readonly [number, number] {
  const [top, setTop] = useState(0);
  const [rows, setRows] = useState(rowsInView);
  const frame = useRef(0);
  useLayoutEffect(() => {
    const look = (): void => {
      frame.current = 0;
      const element = list.current;
      if (!element) return;
      const pane = element.closest('.scroller')?.getBoundingClientRect();
      const above = Math.max(0, pane?.top ?? 0) - element.getBoundingClientRect().top;
      setTop(Math.max(0, Math.floor(above / ROW_PX / TOP_STEP) * TOP_STEP));
      setRows(rowsInView());
    };
    const soon = (): void => {
      frame.current ||= requestAnimationFrame(look);
    };
    look();
    document.addEventListener('scroll', soon, { capture: true, passive: true });
    addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(frame.current);
      frame.current = 0;
      document.removeEventListener('scroll', soon, { capture: true });
      removeEventListener('resize', soon);
    };
  }, [length]);
  const first = Math.max(0, Math.min(top, length - rows));
  return [Math.max(0, first - SPARE_ROWS), Math.min(length, first + rows + SPARE_ROWS + TOP_STEP)];
}

/** Bounded by the screen, because a frame can be far higher. */
const rowsInView = (): number => Math.ceil(Math.min(innerHeight, screen.height * 2) / ROW_PX);
