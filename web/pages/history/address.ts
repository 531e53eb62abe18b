import { useLayoutEffect, useState } from 'preact/hooks';

/** The current view: all suites, one suite, or one case. */
export interface HistoryAddress {
  readonly suite: string | null;
  readonly case: string | null;
}

export function historyHash({ suite, case: id }: HistoryAddress): string {
  const asked = new URLSearchParams();
  if (suite !== null) asked.set('suite', suite);
  if (id !== null) asked.set('case', id);
  return `#${asked.toString()}`;
}

/** The view in the URL; without one, the view that the user asked for. */
export function useHistoryAddress(first: HistoryAddress): HistoryAddress {
  const [hash, setHash] = useState(location.hash);
  useLayoutEffect(() => {
    const read = (): void => {
      setHash(location.hash);
      scrollTo(0, 0);
    };
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  if (!/[#&](?:suite|case)=/.test(hash)) return hash === '' ? first : { suite: null, case: null };
  const asked = new URLSearchParams(hash.slice(1));
  return { suite: asked.get('suite'), case: asked.get('case') };
}
