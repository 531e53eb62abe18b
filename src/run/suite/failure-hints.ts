import { clip } from '../../base/clip.ts';
import { printable } from '../../base/printable.ts';
import type { DeclaredKind } from '../../contracts/target/index.ts';
import type { HttpAnswer } from '../../execute/http.ts';

/** The request that failed, for failure messages. They are masked before they are stored. */
export interface AskedApi {
  /** The URL of the request. */
  readonly url: string;
  /** The kind of a declared target; undefined for `--base-url`. */
  readonly kind?: DeclaredKind | undefined;
  readonly redirects?: boolean;
}

/** Adds the address to a sentence about the agent or the connection. */
export function withAddress(sentence: string, asked: AskedApi | undefined): string {
  if (!asked) return sentence;
  const address = addressIn(asked.url);
  return sentence.replace(/^The (agent|connection)(?= )/, (words, what) =>
    what === 'agent' ? `${words} at ${address}` : `${words} to ${address}`,
  );
}

/** Scheme, host, port and path. A query may hold secrets, and never helps to find the server. */
export function addressIn(url: string): string {
  return printable(clip(url.replace(/[?#].*$/s, ''), ADDRESS_BYTES_MAX).text);
}

const ADDRESS_BYTES_MAX = 200;

/** Where a redirect leads, and what to do about it; empty for other answers. */
export function redirectHint({ status = 0, headers }: HttpAnswer, asked: AskedApi | undefined): string {
  const { location } = headers;
  if (status < 300 || status > 399 || location === undefined || !asked) return '';
  const next = URL.canParse(location, asked.url) ? new URL(location, asked.url) : undefined;
  const where = next && /^https?:$/.test(next.protocol) ? `, a redirect to ${addressIn(next.href)}` : ', a redirect';
  if (asked.kind !== undefined)
    return `${where}. Proctor does not follow redirects for declared targets: declare the final URL`;
  if (asked.redirects) return `${where}. Proctor follows at most 5 redirects, and none to another host or port`;
  return `${where}. Use --follow-redirects, or the URL that answers`;
}

/** Why a reply that is not JSON may still be valid, as an additional sentence. */
export function contentHint(contentType: string | undefined, kind: DeclaredKind | undefined): string {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const form = STREAMS[type];
  if (form !== undefined && (kind === undefined || kind === 'proctor'))
    return ` The reply is a stream: use a target file with kind: http and stream: { as: ${form} }.`;
  if (form !== undefined && kind === 'http') return ` The reply is a stream: declare stream: { as: ${form} }.`;
  if (form === 'sse' && kind !== undefined && STREAMING.has(kind))
    return ' The reply is a stream: declare stream: true.';
  if (type === '' || type.includes('json')) return '';
  return ` Its content type is ${printable(clip(type, TYPE_BYTES_MAX).text)}.`;
}

const STREAMS: Readonly<Record<string, 'sse' | 'ndjson'>> = {
  'text/event-stream': 'sse',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
};
const STREAMING: ReadonlySet<DeclaredKind> = new Set(['openai-chat', 'openai-responses', 'anthropic-messages']);
const TYPE_BYTES_MAX = 60;
