import { useLayoutEffect, useState } from 'preact/hooks';

/** What is being looked at. All of it stands in the address, so that it can be sent, reloaded and gone back to. */
export interface Address {
  readonly case: string;
  /** The place in the case that is pointed at, such as new:events[2]. */
  readonly at: string;
  readonly view: string;
  readonly change: string;
  readonly verdict: string;
  readonly error: string;
  readonly suite: string;
  readonly q: string;
  readonly sort: string;
}

const KEYS = ['case', 'at', 'view', 'change', 'verdict', 'error', 'suite', 'q', 'sort'] as const;

export function addressOf(hash: string): Address {
  const asked = new URLSearchParams(hash.replace(/^#/, ''));
  return Object.fromEntries(KEYS.map(key => [key, asked.get(key) ?? ''])) as unknown as Address;
}

/** A link to the same view with something changed. */
export function hashOf(address: Address, over: Partial<Address> = {}): string {
  const whole = { ...address, ...over };
  const asked = new URLSearchParams(KEYS.flatMap(key => (whole[key] ? [[key, whole[key]]] : [])));
  return `#${asked.toString()}`;
}

/**
 * Looks elsewhere, at once: a key that follows must find the new view. What is only typed replaces the address, so that going
 * back leaves the view and not a letter.
 */
export function go(hash: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', hash);
  else history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useAddress(): Address {
  const [address, setAddress] = useState(() => addressOf(location.hash));
  // With the first drawing and not after it: what is asked for in between would be lost.
  useLayoutEffect(() => {
    const read = (): void => setAddress(addressOf(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return address;
}
