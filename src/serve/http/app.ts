import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import type { Access } from '../access/access.ts';
import type { Identity } from '../access/identity.ts';
import { allows } from '../access/roles.ts';
import { securityHeaders } from './headers.ts';
import { inputOf } from './input.ts';
import { faultOfError, type HttpRefusal, httpRefusal } from './refusal.ts';
import { Content, type Route, Streamed } from './route.ts';
import type { Server } from './server.ts';

type ServerContext = Context<{ Bindings: HttpBindings }>;

/** The HTTP application: every route behind the same guards, then the pages of the viewer. */
export function appOf(server: Server, routes: readonly Route[]): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  for (const route of routes)
    app.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), context => answered(server, route, context));
  app.get('*', context => pageAt(server, context));
  app.all('*', context =>
    refused(server, context, httpRefusal(new Fault('not_found', 'There is nothing here.'), undefined)),
  );
  return app;
}

/** Answers a route, or refuses. Everything that a client sees passes through here. */
async function answered(server: Server, route: Route, context: ServerContext): Promise<Response> {
  const correlationId = newCorrelationId();
  const seen: Seen = { who: undefined, correlationId, note: undefined };
  try {
    return await act(server, route, context, seen);
  } catch (error) {
    const { incoming } = context.env;
    const isGone = incoming.destroyed && !incoming.complete;
    const fault = isGone ? new Fault('client_gone', 'The client went away.', { cause: error }) : faultOfError(error);
    const refusal = httpRefusal(fault, route);
    if (refusal.status >= 500 && !server.isOutage(fault)) server.log.fault(route.name, correlationId, fault);
    const message = fault.code === 'bug' ? `${fault.message} Quote ${correlationId} to the operator.` : refusal.message;
    server.metrics.refused(route.name, refusal.code);
    if (seen.note) seen.note.end(refusal.status >= 500 ? 'failed' : 'refused', refusal.code);
    else server.access.noteRefusal(route, seen.who, refusal.code, context.req.path, correlationId);
    return refused(server, context, { ...refusal, message });
  }
}

interface Seen {
  who: Identity | undefined;
  readonly correlationId: string;
  /** The line of the audit log that an act has begun with. */
  note: ReturnType<Access['beginAct']> | undefined;
}

async function act(server: Server, route: Route, context: ServerContext, seen: Seen): Promise<Response> {
  const { raw } = context.req;
  const { incoming, outgoing } = context.env;
  const place = server.access.checkHost(incoming);
  const who = await server.access.identify(incoming);
  seen.who = who;
  await server.access.checkRate(who, incoming);
  if (route.role !== 'anyone') {
    if (who === undefined) throw new Fault('not_signed_in', 'Sign in first, or send a token.');
    if (!allows(who.role, route.role)) throw new Fault('role_too_low', `This needs the role ${route.role}.`);
  }
  server.access.checkOrigin(incoming, who, place);
  const input = await inputOf(route, raw, context.req.param());
  const { correlationId } = seen;
  const asking = {
    server,
    who: who ?? NO_ONE,
    // Few routes need it, and it is costly to create.
    get signal() {
      return raw.signal;
    },
    request: raw,
    incoming,
    correlationId,
  };
  // Routes for anyone note themselves, so that strangers cannot fill the audit log.
  if (route.method !== 'GET' && route.role !== 'anyone' && !route.isRoutine)
    seen.note = server.access.beginAct(route, who, context.req.path, correlationId);
  const value = await route.act(input, asking);
  seen.note?.end('done', undefined, route.made?.(value));
  if (value instanceof Streamed) {
    // After `close` has been emitted, nothing would ever end the stream.
    if (outgoing.destroyed) return RESPONSE_ALREADY_SENT;
    for (const [name, text] of Object.entries(securityHeaders('api'))) outgoing.setHeader(name, text);
    outgoing.once(
      'close',
      server.access.watch(incoming, route.role, () => outgoing.destroy()),
    );
    value.start(outgoing);
    return RESPONSE_ALREADY_SENT;
  }
  if (value instanceof Content && (raw.method === 'HEAD' || outgoing.destroyed)) await release(value);
  return answer(route, value);
}

/** Closes the file behind an answer that no client reads. The HTTP library drops such a stream without cancelling it. */
async function release({ bytes }: Content): Promise<void> {
  if (bytes instanceof ReadableStream) await bytes.cancel();
}

/** The identity of a client that has not signed in. */
const NO_ONE: Identity = { id: '', name: '', role: 'user', via: 'none' };

function answer(route: Route, value: unknown): Response {
  const headers = securityHeaders('api');
  if (value instanceof Response) {
    for (const [name, text] of Object.entries(headers)) if (!value.headers.has(name)) value.headers.set(name, text);
    return value;
  }
  // Not `context.body`, which copies every header into an object of its own and so takes twice as long.
  if (route.status === 204) return new Response(null, { status: 204, headers });
  const status = route.status ?? 200;
  if (value instanceof Content)
    return new Response(value.bytes as string, { status, headers: { ...headers, ...value.headers } });
  return new Response(JSON.stringify(value), { status, headers: { ...headers, 'content-type': JSON_TYPE } });
}

const JSON_TYPE = 'application/json; charset=utf-8';

function refused(server: Server, context: ServerContext, refusal: HttpRefusal): Response {
  const { status, code, message, retryAfterS, fields } = refusal;
  const wait = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) };
  if (isOpened(context) && !WITHOUT_PAGES.has(code)) {
    const page = server.pages.refusal(code, message);
    return context.body(page.bytes as string, status, { ...page.headers, ...wait });
  }
  const headers = { ...securityHeaders('api'), ...wait, 'content-type': JSON_TYPE };
  return context.body(JSON.stringify({ error: { code, message, fields } }), status, headers);
}

/** Whether a person opened the address in a browser, and not a program. */
const isOpened = ({ req }: ServerContext): boolean =>
  req.method === 'GET' && req.header('sec-fetch-mode') === 'navigate' && req.header('sec-fetch-dest') === 'document';

/** The viewer could not load its files under such an address. */
const WITHOUT_PAGES: ReadonlySet<string> = new Set(['wrong_host', 'not_secure']);

/** The viewer, or one of its files. */
function pageAt(server: Server, context: ServerContext): Response {
  try {
    server.access.checkHost(context.env.incoming);
    const page = server.pages.at(context.req.path);
    if (!page) throw new Fault('not_found', 'There is nothing here.');
    return context.body(page.bytes as string, 200, { ...page.headers });
  } catch (error) {
    const refusal = httpRefusal(faultOfError(error), undefined);
    server.access.noteRefusal(PAGE, undefined, refusal.code, context.req.path, newCorrelationId());
    return refused(server, context, refusal);
  }
}

/** How the audit log names a refused page. */
const PAGE = { name: 'page', role: 'anyone' } as const;
