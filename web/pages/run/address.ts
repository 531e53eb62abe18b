import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

/** The view of a run's page. The address holds all of it, so a link and a reload show the same. */
export interface RunAddress {
  /** The id of a section or a line. */
  readonly at: string;
  /** The text to search for in the streams. */
  readonly find: string;
  /** `page` shows the HTML output in a frame, anything else as text. */
  readonly html: string;
  /** `sequences` shows terminal sequences instead of colours. */
  readonly raw: string;
}

const KEYS = ['at', 'find', 'html', 'raw'] as const;

function runAddressOf(hash: string): RunAddress {
  const asked = new URLSearchParams(hash.replace(/^#/, ''));
  return Object.fromEntries(KEYS.map(key => [key, asked.get(key) ?? ''])) as unknown as RunAddress;
}

/** The same view with something changed. */
export function runHash(over: Partial<RunAddress>): string {
  const whole = { ...runAddressOf(location.hash), ...over };
  return `#${new URLSearchParams(KEYS.flatMap(key => (whole[key] ? [[key, whole[key]]] : []))).toString()}`;
}

/** Replaces the history entry, so that the back button leaves the page instead of undoing letters. */
export function showRunView(over: Partial<RunAddress>): void {
  history.replaceState(null, '', runHash(over));
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRunAddress(): RunAddress {
  const [address, setAddress] = useState(() => runAddressOf(location.hash));
  useLayoutEffect(() => {
    const read = (): void => setAddress(runAddressOf(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return address;
}

/** Moves to the section or line that the address names. */
export function useArrival({ at }: RunAddress): void {
  useEffect(() => {
    const place = at === '' ? null : document.getElementById(at);
    if (!place) return;
    place.scrollIntoView({ block: at.includes('-') ? 'center' : 'start' });
    place.focus({ preventScroll: true });
  }, [at]);
}
