/** Moves the focus to the next or previous step that differs, or that failed in a run. Stops at the first and the last. */
export function toDifference(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('.stream .event[data-differs=true]')];
  if (rows.length === 0) return;
  const current = document.activeElement?.closest('.stream > li') ?? null;
  const next = current ? nextOf(rows, current, by) : rows[by > 0 ? 0 : rows.length - 1];
  if (!next) return;
  next.querySelector('summary')?.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'center' });
}

function nextOf(rows: readonly HTMLElement[], current: Element, by: number): HTMLElement | undefined {
  const follows = (row: HTMLElement): boolean =>
    (current.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  const precedes = (row: HTMLElement): boolean =>
    (current.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_PRECEDING) !== 0;
  return by > 0 ? rows.find(follows) : rows.findLast(precedes);
}
