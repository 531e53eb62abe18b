import { CASE_PATH, questionOf, readReply, type Side } from '../../adapters/http-agent.ts';
import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { systemClock } from '../../base/clock.ts';
import { readJson } from '../../base/json.ts';
import { Masker, needlesOf } from '../../base/masker.ts';
import type { Needles } from '../../base/needles.ts';
import { printable } from '../../base/printable.ts';
import { type HttpAnswer, HttpTarget } from '../../execute/http.ts';
import type { SuiteSettings } from './settings.ts';
import { type Body, CANCELLED, type Failed, type Question, type Target, type Told } from './target.ts';

export interface HttpAgent {
  readonly url: string;
  readonly side: Side;
  readonly runId: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Values that are masked in everything that comes back. */
  readonly secrets: readonly string[];
  readonly redirects: boolean;
  readonly settings: SuiteSettings;
}

/** An agent behind an address. */
export function httpTarget(agent: HttpAgent): Target {
  const { url, side, runId, settings, secrets } = agent;
  const { origin, pathname, search } = new URL(url);
  const path = `${pathname.replace(/\/$/, '')}/${CASE_PATH}${search}`;
  const http = new HttpTarget(origin, settings.concurrency);
  const needles = needlesOf(secrets);
  const headers = {
    ...agent.headers,
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': 'identity',
  };
  return {
    async ask({ one, key }: Question): Promise<Told> {
      const answer = await http.send({
        path,
        headers: { ...headers, 'idempotency-key': key },
        body: questionOf(one, side, runId),
        deadlineMs: settings.timeoutMs,
        idleMs: settings.idleMs,
        bodyBytesMax: settings.bodyBytesMax,
        redirectsMax: agent.redirects ? REDIRECTS_MAX : 0,
      });
      const { latencyMs, status } = answer;
      const outcome = judged(answer, one.id, agent, needles);
      return { latencyMs: rounded(latencyMs), outcome, ...(status !== undefined && { httpStatus: status }) };
    },
    cancel: () => http.cancel(),
    close: () => http.close(),
  };
}

const REDIRECTS_MAX = 5;

function judged(answer: HttpAnswer, id: string, agent: HttpAgent, secrets: Needles): Told['outcome'] {
  const { settings } = agent;
  const { bytes, masked } = maskedBody(answer.body, secrets, answer.ended !== 'complete');
  const failure = troubleWith(answer, settings);
  if (!failure) {
    const reading = readReply(bytes, id, agent.side, settings.bodyBytesMax);
    if (reading.ok) return { ok: true, reply: reading.reply, masked, bytes: bytes.length };
    return failed({ ...reading, mayRetry: false }, answer, bytes, secrets);
  }
  return failed(failure, answer, bytes, secrets);
}

/** A body as it may be kept. JSON can spell every letter in another way, so what is JSON is looked at as it is meant, too. */
function maskedBody(body: Buffer, secrets: Needles, isCut: boolean): { bytes: Buffer; masked: number } {
  const masker = new Masker(secrets);
  // The end of a cut body may be the beginning of a secret, and is then held back for ever.
  const bytes = isCut ? masker.take(body) : masker.whole(body);
  if (secrets.longest === 0 || !body.includes('\\')) return { bytes, masked: masker.masked };
  const reading = readJson(body, { bytesMax: body.length });
  if (!reading.ok) return { bytes, masked: masker.masked };
  const plain = new Masker(secrets);
  const meant = plain.whole(Buffer.from(canonicalize(reading.value)));
  return plain.masked > masker.masked ? { bytes: meant, masked: plain.masked } : { bytes, masked: masker.masked };
}

type Trouble = Omit<Failed, 'ok' | 'body' | 'statusText'>;

/** Why an answer is none, if that can be said before it is read. */
function troubleWith(answer: HttpAnswer, { timeoutMs, idleMs, bodyBytesMax }: SuiteSettings): Trouble | undefined {
  const { ended, status, errorName, headers } = answer;
  switch (ended) {
    case 'timeout':
      return { class: 'timeout', message: `No whole answer came within ${timeoutMs} ms.`, mayRetry: true };
    case 'idle':
      return { class: 'timeout', message: `Nothing was heard for ${idleMs} ms.`, errorName: 'IDLE', mayRetry: true };
    case 'cancelled':
      return CANCELLED;
    case 'broken':
      if (errorName === 'UNKNOWN_CONTENT_ENCODING' || errorName === 'BROKEN_CONTENT_ENCODING') {
        return { class: 'invalid_json', message: BROKEN[errorName] ?? '', errorName, mayRetry: false };
      }
      return {
        class: 'network_error',
        message: BROKEN[errorName ?? ''] ?? 'The connection failed.',
        mayRetry: true,
        ...(errorName !== undefined && { errorName }),
      };
    case 'too_large':
      if (status !== undefined && status >= 200 && status < 300) {
        const message = `The answer is larger than ${bodyBytesMax} bytes.`;
        return { class: 'schema_mismatch', message, errorName: 'TOO_LARGE', mayRetry: false };
      }
      break;
    case 'complete':
  }
  if (status !== undefined && status >= 200 && status < 300) return undefined;
  const retryAfterMs = retryAfter(headers['retry-after']);
  return {
    class: 'http_error',
    message: `The agent answered with status ${status ?? 0}.`,
    mayRetry: status === 408 || status === 425 || status === 429 || (status ?? 0) >= 500,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

const BROKEN: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The agent refused the connection.',
  ECONNRESET: 'The connection was cut.',
  UND_ERR_SOCKET: 'The connection was cut before the answer was whole.',
  ENOTFOUND: 'The name of the agent cannot be resolved.',
  EAI_AGAIN: 'The name of the agent cannot be resolved now.',
  EPIPE: 'The agent closed the connection while the request was sent.',
  ETIMEDOUT: 'The agent could not be reached.',
  EHOSTUNREACH: 'The agent could not be reached.',
  UND_ERR_HEADERS_OVERFLOW: 'The headers of the answer are too large.',
  UNKNOWN_CONTENT_ENCODING: 'The answer is compressed in a way that was not asked for and is not known.',
  BROKEN_CONTENT_ENCODING: 'The answer is compressed, and cannot be read.',
};

/** Seconds or a date. */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - systemClock.now());
}

function failed(trouble: Trouble, answer: HttpAnswer, bytes: Buffer, secrets: Needles): Failed {
  const { statusText, headers, ended, bodyTotal } = answer;
  const hasBody = answer.body.length > 0;
  const body: Body = {
    bytes,
    bytesTotal: ended === 'complete' ? bytes.length : bodyTotal,
    truncated: ended !== 'complete',
    contentType: headers['content-type'] === undefined ? null : safe(headers['content-type'], secrets),
    headers: sanitized(headers, secrets),
  };
  return {
    ...trouble,
    ok: false,
    ...(statusText !== undefined && { statusText: safe(statusText, secrets) }),
    ...(hasBody && { body }),
  };
}

/** Headers as they may be kept: few, short, and without what opens doors. */
function sanitized(headers: Readonly<Record<string, string>>, secrets: Needles): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .slice(0, HEADERS_MAX)
      .map(([name, value]) => [safe(name, secrets), TELLING.test(name) ? '[masked]' : safe(value, secrets)]),
  );
}

const HEADERS_MAX = 100;
const HEADER_BYTES_MAX = 1_000;
const TELLING = /cookie|auth|token|key|secret|session|password/i;

function safe(text: string, secrets: Needles): string {
  return printable(clip(new Masker(secrets).whole(Buffer.from(text)).toString(), HEADER_BYTES_MAX).text);
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
