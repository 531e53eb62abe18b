import { clip } from '../../base/clip.ts';
import { systemClock } from '../../base/clock.ts';
import { Masker, type Masking } from '../../base/masker.ts';
import { printable } from '../../base/printable.ts';
import { withoutQueryValues } from '../../base/secret-parts.ts';
import type { HttpAnswer } from '../../execute/http.ts';
import { type AskedApi, redirectHint, withAddress } from './failure-hints.ts';
import type { SuiteSettings } from './settings.ts';
import { type Body, CANCELLED, type FailedAttempt } from './target.ts';

export type ResponseFailure = Omit<FailedAttempt, 'ok' | 'body' | 'statusText'>;

/** Returns the failure of a response, if it can be determined without reading the body. */
export function responseFailure(
  answer: HttpAnswer,
  settings: SuiteSettings,
  asked?: AskedApi,
): ResponseFailure | undefined {
  const failure = failureIn(answer, settings, asked);
  return failure && { ...failure, message: withAddress(failure.message, asked) };
}

function failureIn(
  answer: HttpAnswer,
  { timeoutMs, idleMs, bodyBytesMax }: SuiteSettings,
  asked: AskedApi | undefined,
): ResponseFailure | undefined {
  const { ended, status, errorName, headers } = answer;
  switch (ended) {
    case 'timeout':
      return {
        class: 'timeout',
        message: `The agent did not finish its answer within ${timeoutMs} ms.`,
        mayRetry: true,
      };
    case 'idle':
      return {
        class: 'timeout',
        message: `The agent sent nothing for ${idleMs} ms.`,
        errorName: 'IDLE',
        mayRetry: true,
      };
    case 'cancelled':
      return CANCELLED;
    case 'broken':
      if (errorName !== undefined && OF_ENCODING.has(errorName)) {
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
    message: `The agent answered with status ${status ?? 0}${redirectHint(answer, asked)}.`,
    mayRetry: status === 408 || status === 425 || status === 429 || (status ?? 0) >= 500,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

const BROKEN: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The agent refused the connection.',
  ECONNRESET: 'The connection was reset.',
  UND_ERR_SOCKET: 'The connection closed before the answer was complete.',
  ENOTFOUND: 'The agent cannot be found: its host name cannot be resolved.',
  EAI_AGAIN: 'The agent cannot be found: its host name cannot be resolved at the moment.',
  EPIPE: 'The agent closed the connection during the request.',
  ETIMEDOUT: 'The agent could not be reached.',
  EHOSTUNREACH: 'The agent could not be reached.',
  UND_ERR_HEADERS_OVERFLOW: 'The response headers are too large.',
  UNKNOWN_CONTENT_ENCODING: 'The answer uses an unknown compression, although Proctor asked for none.',
  BROKEN_CONTENT_ENCODING: 'The compressed answer cannot be decompressed.',
  COMPRESSED_STREAM:
    'The agent compressed its stream, although Proctor did not ask for compression. Turn it off, so that Proctor can time the frames.',
};

const OF_ENCODING: ReadonlySet<string> = new Set([
  'UNKNOWN_CONTENT_ENCODING',
  'BROKEN_CONTENT_ENCODING',
  'COMPRESSED_STREAM',
]);

/** Parses seconds or a date. */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - systemClock.now());
}

/** The failed attempt, with the masked body as evidence. */
export function failedResponse(
  failure: ResponseFailure,
  answer: HttpAnswer,
  bytes: Buffer,
  masking: Masking,
): FailedAttempt {
  const { statusText, headers, ended, bodyTotal } = answer;
  const hasBody = answer.body.length > 0;
  const body: Body = {
    bytes,
    bytesTotal: ended === 'complete' ? bytes.length : bodyTotal,
    truncated: ended !== 'complete',
    contentType: headers['content-type'] === undefined ? null : safe(headers['content-type'], masking),
    headers: sanitized(headers, masking),
  };
  return {
    ...failure,
    // It may quote the address, and so a secret in it.
    message: new Masker(masking).text(failure.message),
    ok: false,
    ...(statusText !== undefined && { statusText: safe(statusText, masking) }),
    ...(hasBody && { body }),
  };
}

/** Limits and masks headers for storage. */
function sanitized(headers: Readonly<Record<string, string>>, masking: Masking): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .slice(0, HEADERS_MAX)
      .map(([name, value]) => [
        safe(name, masking),
        TELLING.test(name) ? '[masked]' : safe(withoutQuery(name, value), masking),
      ]),
  );
}

/** URLs in headers may have tokens in their queries. */
function withoutQuery(name: string, value: string): string {
  return ADDRESSES.test(name) ? withoutQueryValues(value) : value;
}

const ADDRESSES = /^(?:location|content-location|refresh|link|referer|origin)$/i;
const HEADERS_MAX = 100;
const HEADER_BYTES_MAX = 1_000;
const TELLING = /cookie|auth|token|key|secret|session|password/i;

function safe(text: string, masking: Masking): string {
  return printable(clip(new Masker(masking).text(text), HEADER_BYTES_MAX).text);
}
