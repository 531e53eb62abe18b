import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Address, go, hrefOf } from './address.ts';
import { ROW_PX } from './case-list.tsx';
import { type ListedCases, useSource } from '../shared/source.ts';

export interface Cases {
  /** The cases that pass the filters, in order. */
  readonly listed: ListedCases;
  /** The focused position in the list. */
  readonly active: number;
  readonly listRef: RefObject<HTMLUListElement | null>;
  /** Scrolls to a position, and focuses it. */
  readonly reach: (to: number, focus: boolean) => void;
  /** Opens the case at a position. */
  readonly open: (to: number) => void;
}

/** The cases that pass the filters, the open one, and the focused one. */
export function useCases(address: Address): Cases {
  const listed = useSource().useListed(address, address.case);
  const { length, position } = listed;
  const [active, setActive] = useState(0);
  const listRef = useRef<HTMLUListElement>(null);
  const within = (to: number): number => Math.max(0, Math.min(length - 1, to));
  const reach = (to: number, focus: boolean): void => {
    setActive(within(to));
    if (listRef.current) scrollTo(listRef.current, within(to), focus);
  };
  const open = (to: number): void => {
    const row = listed.rowAt(within(to));
    if (row) go(hrefOf(address, { case: row[0], at: '', view: '' }));
  };
  useEffect(() => {
    if (position >= 0) reach(position, false);
  }, [position]);
  useEffect(() => {
    if (position < 0) setActive(0);
  }, [listed.key]);
  return { listed, active, listRef, reach, open };
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
