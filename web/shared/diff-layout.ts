import { useLayoutEffect, useState } from 'preact/hooks';

export const LAYOUTS = ['side', 'unified'] as const;
export type DiffLayout = (typeof LAYOUTS)[number];

const KEY = 'proctor-diff-layout';
const CHANGED = 'proctor-diff-layout';
/** The choice if the page has no storage. */
let chosen: DiffLayout | undefined;

/** Side by side or unified. One choice holds for every diff in the session; without one, phones show unified diffs. */
export function useDiffLayout(): readonly [DiffLayout, (layout: DiffLayout) => void] {
  const [layout, setLayout] = useState(current);
  useLayoutEffect(() => {
    const read = (): void => setLayout(current());
    const narrow = matchMedia(NARROW);
    addEventListener(CHANGED, read);
    narrow.addEventListener('change', read);
    return () => {
      removeEventListener(CHANGED, read);
      narrow.removeEventListener('change', read);
    };
  }, []);
  return [
    layout,
    next => {
      chosen = next;
      try {
        sessionStorage.setItem(KEY, next);
      } catch {
        // Without storage, the choice lasts until the page is closed.
      }
      dispatchEvent(new Event(CHANGED));
    },
  ];
}

const NARROW = '(max-width: 900px)';

function current(): DiffLayout {
  try {
    chosen ??= LAYOUTS.find(layout => layout === sessionStorage.getItem(KEY));
  } catch {
    // A page opened from disk may have no storage.
  }
  return chosen ?? (matchMedia(NARROW).matches ? 'unified' : 'side');
}
