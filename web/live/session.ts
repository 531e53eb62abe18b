import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useState } from 'preact/hooks';
import { ask, order, Refusal } from './api.ts';

/** Who uses the viewer. */
export interface Who {
  readonly name: string;
  readonly role: string;
  /** The routes of the server, such as `GET /v1/runs`. The viewer shows nothing that the server cannot do. */
  readonly routes: ReadonlySet<string>;
}

export type Session =
  | { readonly state: 'asking' }
  | { readonly state: 'in'; readonly who: Who }
  | { readonly state: 'out'; readonly why: string }
  | { readonly state: 'unreachable'; readonly why: string };

const WhoContext = createContext<Who>({ name: '', role: 'user', routes: new Set() });

export const WhoProvider = WhoContext.Provider;

export const useWho = (): Who => useContext(WhoContext);

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
  const [{ name, role }, { paths }] = await Promise.all([
    ask<Pick<Who, 'name' | 'role'>>('/v1/session'),
    ask<{ readonly paths: Readonly<Record<string, object>> }>('/v1/openapi.json'),
  ]);
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
  );
  return { name, role, routes: new Set(routes) };
}

export const signIn = (proof: { readonly secret: string } | { readonly token: string }): Promise<unknown> =>
  order('POST', '/v1/session', proof);

export const signOut = (): Promise<unknown> => order('DELETE', '/v1/session');

function outOf(error: unknown): Session {
  if (!(error instanceof Refusal)) return { state: 'unreachable', why: 'The page hit an internal error.' };
  if (error.code === 'not_signed_in') return { state: 'out', why: '' };
  if (error.status === 401 || error.status === 403) return { state: 'out', why: error.message };
  return { state: 'unreachable', why: error.message };
}

/** Whether the server has a route. */
export const useHas = (route: string): boolean => useWho().routes.has(route);
