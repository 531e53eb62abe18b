import * as z from 'zod/mini';
import { record } from '../../contracts/shape.ts';
import { route } from '../http/route.ts';

const you = record({ name: z.string(), role: z.string() });

export const sessionRoute = route({
  name: 'session',
  method: 'GET',
  path: '/v1/session',
  role: 'user',
  why: 'Says who you are.',
  gives: you,
  act: (_, { who: { name, role } }) => ({ name, role }),
});

export const signInRoute = route({
  name: 'signIn',
  method: 'POST',
  path: '/v1/session',
  role: 'anyone',
  why: 'Exchanges the secret of the printed address, or a token, for a session cookie.',
  body: z.union([
    record({ secret: z.string().check(z.maxLength(200)) }),
    record({ token: z.string().check(z.maxLength(200)) }),
  ]),
  gives: you,
  refuses: { bad_secret: 401, bad_token: 401 },
  act: async ({ body }, { server, incoming, correlationId }) => {
    const { person, cookies } = await server.access.signIn(incoming, body, correlationId);
    return withCookies(Response.json({ name: person.name, role: person.role }), cookies);
  },
});

export const signOutRoute = route({
  name: 'signOut',
  method: 'DELETE',
  path: '/v1/session',
  role: 'user',
  why: 'Ends the session of this browser.',
  gives: record({}),
  act: (_, { server, incoming }) => withCookies(Response.json({}), [server.access.signOut(incoming)]),
});

export const signInWaysRoute = route({
  name: 'signInWays',
  method: 'GET',
  path: '/v1/session/ways',
  role: 'anyone',
  why: 'Says how people can sign in.',
  gives: record({ provider: z.boolean(), address: z.boolean() }),
  act: (_, { server: { access } }) => access.signInWays,
});

export const beginLoginRoute = route({
  name: 'beginLogin',
  method: 'GET',
  path: '/login/provider',
  role: 'anyone',
  why: 'Sends a browser to the sign-in provider.',
  query: record({ to: z.optional(z.string().check(z.maxLength(1_000))) }),
  gives: { media: 'text/plain' },
  status: 302,
  refuses: { no_oidc: 404, oidc_unreachable: 503 },
  act: async ({ query }, { server, incoming }) => {
    const { address, cookies } = await server.access.beginLogin(incoming, query.to ?? '/');
    return redirect(address, cookies);
  },
});

export const finishLoginRoute = route({
  name: 'finishLogin',
  method: 'GET',
  path: '/login/callback',
  role: 'anyone',
  why: 'Takes a browser back from the sign-in provider.',
  query: z.record(z.string(), z.string().check(z.maxLength(4_000))),
  gives: { media: 'text/plain' },
  status: 302,
  refuses: { no_oidc: 404, login_failed: 401, no_role: 403, oidc_unreachable: 503 },
  act: async (_, { server, incoming, correlationId, request }) => {
    const { search } = new URL(request.url);
    const { returnTo, cookies } = await server.access.finishLogin(incoming, search, correlationId);
    return redirect(returnTo, cookies);
  },
});

function redirect(to: string, cookies: readonly string[]): Response {
  return withCookies(new Response(null, { status: 302, headers: { location: to } }), cookies);
}

function withCookies(response: Response, cookies: readonly string[]): Response {
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
