import { useLayoutEffect, useState } from 'preact/hooks';

/** The view of an agent's page, all of it in the URL. */
export interface AgentAddress {
  /** The highlighted transcript line; empty for none. */
  readonly line: string;
  /** The words to search for in the transcript. */
  readonly q: string;
  /** `split` shows the changes side by side. */
  readonly diff: string;
  /** The section that a link leads to. */
  readonly part: string;
}

const KEYS = ['line', 'q', 'diff', 'part'] as const;

function agentAddress(hash: string): AgentAddress {
  const asked = new URLSearchParams(hash.replace(/^#/, ''));
  return Object.fromEntries(KEYS.map(key => [key, asked.get(key) ?? ''])) as unknown as AgentAddress;
}

/** A link to the same view with something changed. */
export function agentHash(address: AgentAddress, over: Partial<AgentAddress> = {}): string {
  const whole = { ...address, part: '', ...over };
  return `#${new URLSearchParams(KEYS.flatMap(key => (whole[key] ? [[key, whole[key]]] : []))).toString()}`;
}

/** Changes the view. Typing replaces the history entry, so the back button does not undo letters. */
export function goTo(hash: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', hash);
  else history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useAgentAddress(): AgentAddress {
  const [address, setAddress] = useState(() => agentAddress(location.hash));
  // Subscribes before the first paint; a later effect would miss events in between.
  useLayoutEffect(() => {
    const read = (): void => setAddress(agentAddress(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return address;
}
