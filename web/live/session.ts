import { createContext } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ask, order, Refusal } from './api.ts';

/** Who uses the viewer. */
export interface Who {
  readonly name: string;
  readonly role: string;
}

export type Session =
  | { readonly state: 'asking' }
  | { readonly state: 'in'; readonly who: Who }
  | { readonly state: 'out'; readonly why: string }
  | { readonly state: 'unreachable'; readonly why: string };

const WhoContext = createContext<Who>({ name: '', role: 'user' });

export const WhoProvider = WhoContext.Provider;

const ORDER = ['user', 'viewer', 'runner', 'admin'];

/** Whether a role includes another. The server decides again; this only hides what it would refuse. */
export const includes = (have: string, need: string): boolean => ORDER.indexOf(have) >= ORDER.indexOf(need);

/** The session of this browser. A secret in the fragment is exchanged for a cookie and leaves the address bar. */
export function useSession(): readonly [Session, () => void] {
  const [session, setSession] = useState<Session>({ state: 'asking' });
  const look = useCallback(() => {
    entered().then(
      who => setSession({ state: 'in', who }),
      (error: unknown) => setSession(outOf(error)),
    );
  }, []);
  useEffect(look, [look]);
  return [session, look];
}

async function entered(): Promise<Who> {
  const secret = new URLSearchParams(location.hash.slice(1)).get('secret');
  if (secret !== null) {
    history.replaceState(null, '', location.pathname + location.search);
    await signIn({ secret });
  }
  return ask<Who>('/v1/session');
}

export const signIn = (proof: { readonly secret: string } | { readonly token: string }): Promise<unknown> =>
  order('POST', '/v1/session', proof);

export const signOut = (): Promise<unknown> => order('DELETE', '/v1/session');

function outOf(error: unknown): Session {
  if (!(error instanceof Refusal)) return { state: 'unreachable', why: 'The page hit an internal error.' };
  if (error.status === 401 || error.status === 403) return { state: 'out', why: error.message };
  return { state: 'unreachable', why: error.message };
}
