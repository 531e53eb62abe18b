import { asObject, memberOf } from './folder.ts';

/** An operation that takes one message and returns one answer. */
export interface ChatOperation {
  readonly path: string;
  /** The key of the message in the JSON that is sent. */
  readonly ask: string;
  /** The key of the answer in the JSON that comes back. */
  readonly answer: string;
}

/**
 * The first POST operation of an OpenAPI document that looks like a conversation: its path, request and reply all have
 * conversational names. A weaker match could create or delete things.
 */
export function chatOperation(document: unknown): ChatOperation | undefined {
  const paths = Object.entries(asObject(memberOf(document, 'paths')) ?? {}).slice(0, PATHS_MAX);
  for (const [path, item] of paths) {
    const post = memberOf(item, 'post');
    if (!PLAIN_PATH.test(path) || !TALKS.test(path) || needsParameters(item) || needsParameters(post)) continue;
    const ask = keyOf(bodySchema(document, memberOf(post, 'requestBody')), ASK, 'only');
    const answer = keyOf(bodySchema(document, replyOf(post)), ANSWER, 'any');
    if (ask !== undefined && answer !== undefined) return { path, ask, answer };
  }
  return undefined;
}

/** Whether the document describes Proctor's own protocol. */
export function hasRunCase(document: unknown): boolean {
  return memberOf(memberOf(memberOf(document, 'paths'), '/run-case'), 'post') !== undefined;
}

const PATHS_MAX = 1_000;
/** No template and no placeholder: the path goes into a declaration. */
const PLAIN_PATH = /^(?:\/[\w.-]{1,100}){1,10}$/;
const TALKS = /chat|ask|messag|query|agent|complet|invoke|answer|convers|talk|prompt|generate/i;
const ASK = ['message', 'question', 'prompt', 'query', 'input', 'text', 'content', 'user_input', 'user_message'];
const ANSWER = ['answer', 'reply', 'response', 'output', 'result', 'completion', 'message', 'text', 'content'];

function needsParameters(operation: unknown): boolean {
  const parameters = memberOf(operation, 'parameters');
  return Array.isArray(parameters) && parameters.some(parameter => memberOf(parameter, 'required') === true);
}

function replyOf(post: unknown): unknown {
  const responses = memberOf(post, 'responses');
  return ['200', '201', '2XX', 'default'].map(status => memberOf(responses, status)).find(Boolean);
}

function bodySchema(document: unknown, body: unknown): unknown {
  const content = memberOf(resolved(document, body), 'content');
  return resolved(document, memberOf(memberOf(content, 'application/json'), 'schema'));
}

/** Follows references inside the document, at most 8 in a row. */
function resolved(document: unknown, value: unknown): unknown {
  let at = value;
  for (let step = 0; step < REFERENCES_MAX; step++) {
    const reference = memberOf(at, '$ref');
    if (typeof reference !== 'string') return at;
    const keys = reference.startsWith('#/') ? reference.slice(2).split('/', KEYS_MAX) : [];
    at = keys.length === 0 ? undefined : keys.reduce(memberOf, document);
  }
  return undefined;
}

const REFERENCES_MAX = 8;
const KEYS_MAX = 10;

/** The first key of `names` that is a text. With `only`, no other key may be required. */
function keyOf(schema: unknown, names: readonly string[], which: 'only' | 'any'): string | undefined {
  const key = names.find(name => memberOf(memberOf(memberOf(schema, 'properties'), name), 'type') === 'string');
  const required = memberOf(schema, 'required');
  const others = Array.isArray(required) ? required.filter(name => name !== key) : [];
  return which === 'only' && others.length > 0 ? undefined : key;
}
