import { useLayoutEffect, useState } from 'preact/hooks';

/** The current view. The URL holds all of it, so a link, a reload and the back button work. */
export interface Address {
  readonly case: string;
  /** The highlighted location in the case, such as new:events[2]. */
  readonly at: string;
  readonly view: string;
  readonly change: string;
  readonly verdict: string;
  readonly error: string;
  readonly suite: string;
  readonly cause: string;
  readonly expectation: string;
  readonly tag: string;
  readonly severity: string;
  readonly q: string;
  readonly sort: string;
  /** The chosen trials of the open case, such as `new:3` or `baseline:2,new:3`. */
  readonly trial: string;
}

/** The parts that narrow the list. */
export const FILTERS = ['change', 'verdict', 'error', 'suite', 'cause', 'expectation', 'tag', 'severity', 'q'] as const;

const KEYS = ['case', 'at', 'view', ...FILTERS, 'sort', 'trial'] as const;

/** Removes all filters. */
export const NO_FILTERS = Object.fromEntries(FILTERS.map(key => [key, ''])) as Record<(typeof FILTERS)[number], ''>;

export function addressOf(hash: string): Address {
  const asked = new URLSearchParams(hash.replace(/^#/, ''));
  return Object.fromEntries(KEYS.map(key => [key, asked.get(key) ?? ''])) as unknown as Address;
}

/** A link to the same view with something changed. Another case starts with the trials that its cause cites. */
export function hashOf(address: Address, over: Partial<Address> = {}): string {
  const whole = { ...address, ...(over.case !== undefined && { trial: '' }), ...over };
  const asked = new URLSearchParams(KEYS.flatMap(key => (whole[key] ? [[key, whole[key]]] : [])));
  return `#${asked.toString()}`;
}

/**
 * Changes the view immediately, because the next key press must see it. Typing replaces the history entry, so the back
 * button leaves the view instead of undoing letters.
 */
export function go(hash: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', hash);
  else history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
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
