import { memberOf } from './folder.ts';
import { type ChatOperation, chatOperation, hasRunCase } from './openapi.ts';

/** The protocol of a server, as far as GET requests show it. */
export type Speech =
  | { readonly kind: 'proctor'; readonly url: string }
  | { readonly kind: 'openai-chat'; readonly url: string; readonly model: string }
  | { readonly kind: 'a2a'; readonly url: string; readonly protocol: '1.0' | '0.3' }
  | { readonly kind: 'http'; readonly url: string; readonly operation: ChatOperation }
  | { readonly kind: 'unknown'; readonly url: string; readonly path: string };

/** What a server sent for a path. `value` is undefined if it is not a JSON object. */
export interface ProbeReply {
  readonly status: number;
  readonly value: unknown;
}

/** What init asks a server, with GET. */
export const PROBES = {
  health: '/health',
  description: '/openapi.json',
  models: '/v1/models',
  card: '/.well-known/agent-card.json',
  runCase: '/run-case',
} as const;

export type ProbeReplies = Readonly<Partial<Record<keyof typeof PROBES, ProbeReply>>>;

/** Decides what a server speaks. Its documents are data: only plain names in them count. */
export function speechOf(origin: string, replies: ProbeReplies): Speech {
  const good = (name: keyof typeof PROBES): unknown => {
    const reply = replies[name];
    return reply !== undefined && reply.status >= 200 && reply.status < 300 ? reply.value : undefined;
  };
  const model = modelIn(good('models'));
  if (model !== undefined) return { kind: 'openai-chat', url: `${origin}/v1`, model };
  const card = cardIn(good('card'), origin);
  if (card) return { kind: 'a2a', ...card };
  // A path that exists for POST alone answers 405, and a server that answers 405 to everything proves nothing.
  const isPostOnly = replies.runCase?.status === 405 && replies.models?.status !== 405;
  if (isPostOnly || hasRunCase(good('description'))) return { kind: 'proctor', url: origin };
  const operation = chatOperation(good('description'));
  return operation ? { kind: 'http', url: origin, operation } : unknownApi(origin);
}

/** An API that shows nothing about itself: a guess that the user has to check. */
export function unknownApi(url: string, path = ''): Speech {
  return { kind: 'unknown', url, path: path || '/chat' };
}

function modelIn(list: unknown): string | undefined {
  const data = memberOf(list, 'data');
  const ids = Array.isArray(data) ? data.map(model => memberOf(model, 'id')) : [];
  return ids.find((id): id is string => typeof id === 'string' && MODEL.test(id));
}

const MODEL = /^[A-Za-z0-9][\w./:@-]{0,199}$/;

/** The address in an agent card counts only if it is on the same server. */
function cardIn(card: unknown, origin: string): { readonly url: string; readonly protocol: '1.0' | '0.3' } | undefined {
  const listed = memberOf(card, 'supportedInterfaces');
  const spoken = Array.isArray(listed)
    ? listed.find(one => memberOf(one, 'protocolBinding') === 'JSONRPC')
    : memberOf(card, 'url') !== undefined && card;
  if (!spoken) return undefined;
  const version = memberOf(spoken, 'protocolVersion');
  const protocol = Array.isArray(listed) && !String(version).startsWith('0.') ? '1.0' : '0.3';
  return { url: `${origin}${pathOn(origin, memberOf(spoken, 'url'))}`, protocol };
}

function pathOn(origin: string, address: unknown): string {
  if (typeof address !== 'string' || !URL.canParse(address)) return '';
  const { port, pathname } = new URL(address);
  return port === new URL(origin).port && PLAIN.test(pathname) ? pathname.replace(/\/$/, '') : '';
}

const PLAIN = /^(?:\/[\w.-]*){1,10}$/;
