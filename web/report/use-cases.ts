import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Address, FILTERS, go, hashOf } from './address.ts';
import { ROW_PX } from './case-list.tsx';
import { useSource } from '../shared/source.ts';
import { Search } from './search.ts';
import { selected } from './selection.ts';

export interface Cases {
  /** The indices of the rows that pass the filters, in order. */
  readonly chosen: readonly number[];
  /** The row of the open case, or -1. */
  readonly index: number;
  /** The position of the open case in `chosen`, or -1. */
  readonly position: number;
  /** The focused position in `chosen`. */
  readonly active: number;
  readonly listRef: RefObject<HTMLUListElement | null>;
  /** Scrolls to a position, and focuses it. */
  readonly reach: (to: number, focus: boolean) => void;
  /** Opens the case at a position. */
  readonly open: (to: number) => void;
}

/** The cases that pass the filters, the open one, and the focused one. */
export function useCases(address: Address): Cases {
  const { head, rows } = useSource();
  const search = useSearch(address.q !== '');
  const chosen = useMemo(
    () => selected(rows, head, address, search),
    [...FILTERS.map(key => address[key]), address.sort, search],
  );
  const index = useMemo(() => (address.case ? rows.findIndex(([id]) => id === address.case) : -1), [address.case]);
  const position = useMemo(() => chosen.indexOf(index), [chosen, index]);
  const [active, setActive] = useState(0);
  const listRef = useRef<HTMLUListElement>(null);
  const within = (to: number): number => Math.max(0, Math.min(chosen.length - 1, to));
  const reach = (to: number, focus: boolean): void => {
    setActive(within(to));
    if (listRef.current) scrollTo(listRef.current, within(to), focus);
  };
  const open = (to: number): void => {
    const row = rows[chosen[within(to)] ?? -1];
    if (row) go(hashOf(address, { case: row[0], at: '', view: '' }));
  };
  useEffect(() => {
    if (position >= 0) reach(position, false);
  }, [position]);
  useEffect(() => {
    if (position < 0) setActive(0);
  }, [chosen]);
  return { chosen, index, position, active, listRef, reach, open };
}

/** The search index, read at the first search. The end of a large page may arrive later. */
function useSearch(isAsked: boolean): Search | undefined {
  const { whenRead, wordIndex } = useSource();
  const [search, setSearch] = useState<Search>();
  useEffect(() => {
    if (!isAsked || search) return;
    whenRead(() => {
      const index = wordIndex();
      if (index) setSearch(new Search(index));
    });
  }, [isAsked]);
  return search;
}

/** Scrolls the pane, or the page on a phone, until the row is visible. */
function scrollTo(list: HTMLUListElement, position: number, focus: boolean): void {
  const pane = list.closest('.scroller');
  if (!pane) return;
  const scroller = pane.scrollHeight > pane.clientHeight + 1 ? pane : document.documentElement;
  const top = list.getBoundingClientRect().top - pane.getBoundingClientRect().top + position * ROW_PX;
  const from = scroller === pane ? pane.scrollTop : scroller.scrollTop;
  const seen = scroller === pane ? top : top + pane.getBoundingClientRect().top;
  if (seen < 0) scroller.scrollTo({ top: from + seen - ROW_PX });
  else if (seen + ROW_PX > scroller.clientHeight)
    scroller.scrollTo({ top: from + seen + 2 * ROW_PX - scroller.clientHeight });
  if (!focus) return;
  // The list renders the row in the first frame; it can take the focus in the second.
  const focusRow = (): void => list.querySelector<HTMLElement>('[data-active=true]')?.focus({ preventScroll: true });
  requestAnimationFrame(() => requestAnimationFrame(focusRow));
}
