import { monotonicMs } from '../../base/clock.ts';
import { Masker, type Masking, maskingOf } from '../../base/masker.ts';
import type { DeclaredKind } from '../../contracts/target/index.ts';
import { type HttpAnswer, type HttpRequest, HttpTarget } from '../../execute/http.ts';
import { joinedPieces } from '../../targets/pieces.ts';
import type { KeptReply, ReplyReader } from '../../targets/reader.ts';
import type { SideName } from '../../targets/reply.ts';
import { type AskedApi, contentHint } from './failure-hints.ts';
import { failedResponse, type ResponseFailure, responseFailure } from './http-failure.ts';
import type { SuiteSettings } from './settings.ts';
import type { AttemptResult, CaseQuestion, FailedAttempt, Target } from './target.ts';
import { traceHeaders } from './trace-headers.ts';

/** An API: where it is, what to send, and how to read the reply. */
export interface HttpApi {
  readonly origin: string;
  readonly side: SideName;
  /** Sends a question, and returns the answer that counts. */
  readonly ask: AskApi;
  readonly read: ReplyReader;
  /** Values to mask in every response. */
  readonly secrets: readonly string[];
  /** Stores well-known credentials unmasked. */
  readonly keepCredentials?: boolean;
  /** The reader may join pieces of a reply, so a secret can appear that no single piece contains. */
  readonly joins?: boolean;
  readonly redirects: boolean;
  /** The kind of a declared target. */
  readonly kind?: DeclaredKind;
  /** Sees every request and its answer, unmasked. */
  readonly onExchange?: (call: ApiCall, answer: HttpAnswer) => void;
  readonly settings: SuiteSettings;
}

export interface ApiCall {
  readonly method: NonNullable<HttpRequest['method']>;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Records when each frame of a stream was complete. */
export interface FrameTimes {
  take(chunk: Buffer, atMs: number): void;
  readonly times: readonly number[];
}

/** Sends a request within the time that is left. */
export type SendCall = (call: ApiCall, countFrames?: FrameTimes) => Promise<HttpAnswer>;

/** Asks a question with one request, or with several, such as those of a session or a poll. */
export type AskApi = (question: CaseQuestion, send: SendCall) => Promise<ApiAnswer>;

type ApiAnswer = { readonly failed: FailedAttempt } | CountedAnswer;

interface CountedAnswer {
  readonly answer: HttpAnswer;
  readonly frames?: FrameTimes;
  /** The time of the whole answer, if it took several requests. */
  readonly latencyMs?: number;
  /** The failure that the agent reported. */
  readonly reported?: string;
}

/** Asks an API. One attempt has one deadline, however many requests it takes. */
export function httpTarget(api: HttpApi): Target {
  const { settings } = api;
  const http = new HttpTarget(api.origin, settings.concurrency);
  const masking = maskingOf(api.secrets, api.keepCredentials);
  const limits = {
    idleMs: settings.idleMs,
    bodyBytesMax: settings.bodyBytesMax,
    redirectsMax: api.redirects ? REDIRECTS_MAX : 0,
  };
  return {
    async ask(question: CaseQuestion): Promise<AttemptResult> {
      const startedMs = monotonicMs();
      let asked: AskedApi | undefined;
      const send: SendCall = async (call, frames) => {
        asked = { url: `${api.origin}${call.path}`, kind: api.kind, redirects: api.redirects };
        const deadlineMs = settings.timeoutMs - (monotonicMs() - startedMs);
        const onData = frames && ((chunk: Buffer, atMs: number): void => frames.take(chunk, atMs));
        const { method, path, body } = call;
        const { signal, trace } = question;
        const headers = { ...call.headers, ...traceHeaders(trace, call.headers) };
        const answer = await http.send({ method, path, headers, body, deadlineMs, onData, signal, ...limits });
        api.onExchange?.(call, answer);
        return answer;
      };
      const result = await api.ask(question, send);
      if ('failed' in result) return { latencyMs: roundedMs(monotonicMs() - startedMs), outcome: result.failed };
      const { answer, latencyMs = answer.latencyMs } = result;
      const failure = failureOf(result, settings, asked);
      // Only a failure that is known before the answer is read leads to another attempt.
      if (!failure) await question.onArrived?.();
      const final = { answer, frames: result.frames, failure };
      const outcome = judgedAnswer(final, question.one.id, api, masking);
      return { latencyMs: roundedMs(latencyMs), outcome, httpStatus: answer.status };
    },
    cancel: () => http.cancel(),
    close: () => http.close(),
  };
}

const REDIRECTS_MAX = 5;

function failureOf(
  { answer, reported }: CountedAnswer,
  settings: SuiteSettings,
  asked: AskedApi | undefined,
): ResponseFailure | undefined {
  const failure = responseFailure(answer, settings, asked);
  if (failure || reported === undefined) return failure;
  return { class: 'schema_mismatch', message: reported, errorName: 'AGENT_FAILED', mayRetry: false };
}

interface FinalAnswer extends Pick<CountedAnswer, 'answer'> {
  readonly frames?: Pick<FrameTimes, 'times'> | undefined;
  /** The failure that is known without reading the body. */
  readonly failure: ResponseFailure | undefined;
}

/** Masks an answer, and reads what is left. */
export function judgedAnswer(
  { answer, frames, failure }: FinalAnswer,
  id: string,
  api: Pick<HttpApi, 'read' | 'side' | 'joins' | 'kind'>,
  masking: Masking,
): AttemptResult['outcome'] {
  const masker = new Masker(masking);
  const bytes = answer.ended === 'complete' ? masker.whole(answer.body) : masker.cut(answer.body);
  const masked = masker.kinds;
  // A message may quote an address, or a reason that is joined from pieces, so it is masked as well.
  const failed = (why: ResponseFailure): FailedAttempt =>
    api.joins && hasPieces(bytes, masking)
      ? { ...why, ok: false, message: `${new Masker(masking).text(why.message)} ${BODY_LEFT_OUT}` }
      : failedResponse({ ...why, masked }, answer, bytes, masking);
  if (failure) return failed(failure);
  const kept: KeptReply = { body: bytes, ...(frames && { frameMs: frames.times.map(roundedMs) }) };
  const reading = api.read(kept, { caseId: id, side: api.side });
  if (reading.ok && api.joins && hasSecret(reading.reply, masking)) return SECRET_IN_PIECES;
  // A stream also has pieces that no mapping joins, such as those of the model's thoughts.
  if (reading.ok && frames && hasPieces(bytes, masking)) return SECRET_IN_PIECES;
  if (reading.ok) return { ...reading, masked, bytes: bytes.length, kept };
  const hint = reading.class === 'invalid_json' && !frames ? contentHint(answer.headers['content-type'], api.kind) : '';
  return failed({ ...reading, message: `${reading.message}${hint}`, mayRetry: false });
}

export const BODY_LEFT_OUT = 'Proctor does not store the reply, because it contains a secret in pieces.';

/** Whether the pieces of a reply form a secret when they are joined. */
export function hasPieces(bytes: Buffer, masking: Masking): boolean {
  const masker = new Masker(masking);
  for (const text of joinedPieces(bytes)) masker.text(text);
  return Object.keys(masker.kinds).length > 0;
}

/** Whether joining the pieces of a masked reply forms a secret that no single piece contains. */
export function hasSecret(reply: object, masking: Masking): boolean {
  const masker = new Masker(masking);
  masker.text(JSON.stringify(reply));
  return Object.keys(masker.kinds).length > 0;
}

/** Masking the joined text would leave an artifact that does not follow from the stored reply. */
export const SECRET_IN_PIECES: FailedAttempt = {
  ok: false,
  class: 'schema_mismatch',
  message: 'The reply contains a secret in pieces, so Proctor stores neither the reply nor the answer.',
  errorName: 'SECRET_IN_PIECES',
  mayRetry: false,
};

export function roundedMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}
