import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../shared/format.ts';

interface Paged<Item> {
  readonly shown: readonly Item[];
  /** Buttons to the other pages; null if everything fits on one. */
  readonly pager: ComponentChildren;
}

/** One page of a long list, so that a browser draws a bounded number of elements. */
export function usePages<Item>(items: readonly Item[], size: number, label: string): Paged<Item> {
  const [asked, setAsked] = useState(0);
  const last = Math.max(0, Math.ceil(items.length / size) - 1);
  const page = Math.min(asked, last);
  const shown = items.slice(page * size, (page + 1) * size);
  if (last === 0) return { shown, pager: null };
  const first = page * size;
  const go = (to: number, word: string) => (
    <button type="button" class="small" aria-disabled={to < 0 || to > last} onClick={() => setAsked(clamped(to, last))}>
      {word}
      <span class="unseen"> page of {label}</span>
    </button>
  );
  return {
    shown,
    pager: (
      <div class="pager" role="group" aria-label={`Pages of ${label}`}>
        {go(page - 1, 'Previous')}
        {go(page + 1, 'Next')}
        <span class="muted" role="status">
          {label} {count(first + 1)} to {count(first + shown.length)} of {count(items.length)}
        </span>
      </div>
    ),
  };
}

const clamped = (page: number, last: number): number => Math.min(last, Math.max(0, page));
