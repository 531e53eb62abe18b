import { useLayoutEffect, useState } from 'preact/hooks';
import { type Chosen, FILTERS } from '../../src/reports/rows/selection.ts';

/** The current view. The URL holds all of it, so a link, a reload and the back button work. */
export interface Address extends Chosen {
  /** The path of the report on a server. Empty in a file, whose fragment is the address. */
  readonly base: string;
  readonly case: string;
  /** The highlighted location in the case, such as new:events[2]. */
  readonly at: string;
  readonly view: string;
  /** The chosen trials of the open case, such as `new:3` or `baseline:2,new:3`. */
  readonly trial: string;
}

const KEYS = ['case', 'at', 'view', ...FILTERS, 'sort', 'trial'] as const;

/** Removes all filters. */
export const NO_FILTERS = Object.fromEntries(FILTERS.map(key => [key, ''])) as Record<(typeof FILTERS)[number], ''>;

/** The view that a fragment names. */
export function addressOf(hash: string): Address {
  return addressIn('', new URLSearchParams(hash.replace(/^#/, '')));
}

/** The view that the keys name. `id` is the case that the path names. */
export function addressIn(base: string, asked: URLSearchParams, id?: string): Address {
  const named = Object.fromEntries(KEYS.map(key => [key, asked.get(key) ?? ''])) as unknown as Address;
  return { ...named, base, ...(id !== undefined && { case: id }) };
}

/** A link to the same view with something changed. Another case starts with the trials that its cause cites. */
export function hrefOf(address: Address, over: Partial<Address> = {}): string {
  const whole = { ...address, ...(over.case !== undefined && { trial: '' }), ...over };
  const keys = whole.base === '' ? KEYS : KEYS.filter(key => key !== 'case');
  const asked = new URLSearchParams(keys.flatMap(key => (whole[key] ? [[key, whole[key]]] : []))).toString();
  if (whole.base === '') return `#${asked}`;
  const path = whole.case === '' ? whole.base : `${whole.base}/cases/${encodeURIComponent(whole.case)}`;
  return asked === '' ? path : `${path}?${asked}`;
}

/**
 * Changes the view immediately, because the next key press must see it. Typing replaces the history entry, so the back
 * button leaves the view instead of undoing letters.
 */
export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href);
  else history.replaceState(null, '', href);
  dispatchEvent(href.startsWith('#') ? new HashChangeEvent('hashchange') : new PopStateEvent('popstate'));
}

export function useAddress(): Address {
  const [address, setAddress] = useState(() => addressOf(location.hash));
  // Subscribes before the first paint; a later effect would miss events in between.
  useLayoutEffect(() => {
    const read = (): void => setAddress(addressOf(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return address;
}
