import { useLayoutEffect, useState } from 'preact/hooks';

/** The current view. The URL holds all of it, so a link, a reload and the back button work. */
export interface MatrixView {
  /** The selected pair, as "1-2": the numbers of the baseline and the candidate. */
  readonly pair: string;
  /** What the scatter plot compares with the pass rate. */
  readonly by: string;
  /** `all` shows the cases with equal results, too. */
  readonly cases: string;
  readonly q: string;
}

const KEYS = ['pair', 'by', 'cases', 'q'] as const;

function viewOf(hash: string): MatrixView {
  const asked = new URLSearchParams(hash.replace(/^#/, ''));
  return Object.fromEntries(KEYS.map(key => [key, asked.get(key) ?? ''])) as unknown as MatrixView;
}

/** A link to the same view with something changed. */
export function viewHash(view: MatrixView, over: Partial<MatrixView>): string {
  const whole = { ...view, ...over };
  return `#${new URLSearchParams(KEYS.flatMap(key => (whole[key] ? [[key, whole[key]]] : []))).toString()}`;
}

/** Replaces the history entry, so the back button leaves the page instead of undoing each choice. */
export function show(hash: string): void {
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useMatrixView(): MatrixView {
  const [view, setView] = useState(() => viewOf(location.hash));
  useLayoutEffect(() => {
    const read = (): void => setView(viewOf(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return view;
}
