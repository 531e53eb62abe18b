import { useLayoutEffect, useMemo, useState } from 'preact/hooks';

/** The current view: a path and a query. The fragment belongs to the view itself. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

export function usePlace(): Place {
  const [address, setAddress] = useState(addressNow);
  // Subscribes before the first paint; a later effect would miss events in between.
  useLayoutEffect(() => {
    const read = (): void => setAddress(addressNow());
    addEventListener('popstate', read);
    addEventListener('click', onClick);
    return () => {
      removeEventListener('popstate', read);
      removeEventListener('click', onClick);
    };
  }, []);
  return useMemo(() => {
    const { pathname, searchParams } = new URL(address, location.origin);
    return { path: pathname, query: searchParams };
  }, [address]);
}

const addressNow = (): string => location.pathname + location.search;

/** Shows another view. Typing replaces the history entry, so the back button does not undo letters. */
export function visit(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href);
  else history.replaceState(null, '', href);
  dispatchEvent(new PopStateEvent('popstate'));
  if (how === 'push') scrollTo(0, 0);
}

/** Links stay links: they can be copied and opened in another tab. Only a plain click stays in the page. */
function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const href = link?.getAttribute('href');
  if (!link || !href?.startsWith('/') || href.startsWith('/v1/') || link.target || link.hasAttribute('download'))
    return;
  event.preventDefault();
  visit(href);
}

/** The same view with something changed. An empty value removes its key. */
export function hrefWith({ path, query }: Place, over: Readonly<Record<string, string>>): string {
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(over)) {
    if (value === '') next.delete(key);
    else next.set(key, value);
  }
  const text = next.toString();
  return text === '' ? path : `${path}?${text}`;
}
