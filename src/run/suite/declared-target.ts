import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { Masker, maskingOf } from '../../base/masker.ts';
import type { HttpAnswer } from '../../execute/http.ts';
import { type ApiCalls, CallError, type FilledCall } from '../../targets/calls.ts';
import { FrameCounter } from '../../targets/mapping/frame-counter.ts';
import type { StreamFormat } from '../../targets/mapping/frames.ts';
import type { TemplateValues } from '../../targets/mapping/template-names.ts';
import { type ApiCall, type AskApi, type FrameTimes, type HttpApi, httpTarget, type SendCall } from './http-target.ts';
import { addressIn } from './failure-hints.ts';
import { JSON_HEADERS } from './protocol-target.ts';
import { questionValues } from './question-values.ts';
import { CANCELLED, type CaseQuestion, type FailedAttempt, type Target } from './target.ts';

export interface DeclaredApi extends Omit<HttpApi, 'origin' | 'ask' | 'redirects'> {
  readonly calls: ApiCalls;
  /** Undefined for a reply in one piece. */
  readonly stream: StreamFormat | undefined;
  readonly runId: string;
  readonly port?: number;
  readonly variable: (name: string) => string | undefined;
}

/** Asks an API as its declaration says: reset, session, request, and polling until the job is over. */
export function declaredTarget(api: DeclaredApi): Target {
  const fixed: TemplateValues = {
    env: api.variable,
    side: api.side,
    run: { id: api.runId },
    ...(api.port !== undefined && { port: api.port }),
  };
  const base = checkedAddress(api.calls.url(fixed), 'http');
  const asker = new ApiAsker(api, fixed, base);
  return httpTarget({
    ...api,
    origin: base.origin,
    redirects: false,
    ask: (question, send) => asker.ask(question, send),
  });
}

/** A URL from the environment is checked only here. */
export function checkedAddress(url: string, scheme: 'http' | 'ws'): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isOfScheme = parsed && [`${scheme}:`, `${scheme}s:`].includes(parsed.protocol);
  if (!isOfScheme || parsed.username || parsed.password || parsed.search || parsed.hash)
    throw new Fault(
      'usage',
      `The url of the target must start with ${scheme}:// or ${scheme}s://, without credentials, query or fragment.`,
    );
  return parsed;
}

class ApiAsker {
  readonly #api: DeclaredApi;
  readonly #fixed: TemplateValues;
  readonly #below: string;
  readonly #base: URL;

  constructor(api: DeclaredApi, fixed: TemplateValues, base: URL) {
    this.#api = api;
    this.#fixed = fixed;
    this.#base = base;
    this.#below = base.pathname.replace(/\/$/, '');
  }

  async ask(question: CaseQuestion, send: SendCall): ReturnType<AskApi> {
    try {
      const values = await this.#prepared(question, send);
      if ('ok' in values) return { failed: values };
      const frames = this.#api.stream === undefined ? undefined : new ArrivalTimes(this.#api.stream);
      const startedMs = monotonicMs();
      const answer = await send(this.#call(this.#api.calls.main, values), frames);
      frames?.end(answer.latencyMs);
      if (!this.#api.calls.poll || !isGood(answer)) return { answer, ...(frames && { frames }) };
      return await this.#polled(answer, values, send, startedMs, question.signal);
    } catch (error) {
      if (error instanceof CallError) return { failed: notSent(error.message) };
      throw error;
    }
  }

  /** Resets the target and opens a session. A failure here is not the agent's. */
  async #prepared(question: CaseQuestion, send: SendCall): Promise<TemplateValues | FailedAttempt> {
    const { reset, session } = this.#api.calls;
    const values = { ...this.#fixed, ...questionValues(question.one, question.key) };
    if (reset) {
      const call = this.#call(reset, values, '/reset');
      const answer = await send(call);
      if (!isGood(answer)) return this.#stepFailed('reset', call, answer);
    }
    if (!session) return values;
    const call = this.#call(session.call, values, '/session');
    const answer = await send(call);
    if (!isGood(answer)) return this.#stepFailed('session', call, answer);
    const id = session.take(documentIn(answer));
    if (typeof id !== 'string' && typeof id !== 'number')
      return notSent('The answer to the session request has no session id at session.take.');
    return { ...values, session: { id: String(id) } };
  }

  async #polled(
    first: HttpAnswer,
    values: TemplateValues,
    send: SendCall,
    startedMs: number,
    signal: AbortSignal,
  ): ReturnType<AskApi> {
    const poll = this.#api.calls.poll as NonNullable<ApiCalls['poll']>;
    const id = poll.id(documentIn(first));
    if (typeof id !== 'string' && typeof id !== 'number') {
      const isOver = poll.isOver(documentIn(first));
      return { answer: first, ...(!isOver && { reported: 'poll.id found nothing in the first reply.' }) };
    }
    const named = { ...values, poll: { id: String(id) } };
    let answer = first;
    while (!poll.isOver(documentIn(answer)) && !poll.hasFailed(documentIn(answer))) {
      const leftMs = this.#api.settings.timeoutMs - (monotonicMs() - startedMs);
      await wait(Math.max(0, Math.min(poll.everyMs, leftMs)), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return { failed: CANCELLED };
      // A last poll without time would race its own deadline.
      if (leftMs <= poll.everyMs) return timedOut(answer, monotonicMs() - startedMs);
      answer = await send(this.#call(poll.call, named, '/poll'));
      if (!isGood(answer) || poll.state(documentIn(answer)) === undefined) break;
    }
    const latencyMs = monotonicMs() - startedMs;
    const reported = isGood(answer) ? reportedBy(documentIn(answer), poll) : undefined;
    return { answer, latencyMs, ...(reported !== undefined && { reported }) };
  }

  #stepFailed(step: 'reset' | 'session', { path }: ApiCall, { ended, status }: HttpAnswer): FailedAttempt {
    if (ended === 'cancelled') return CANCELLED;
    const what = ended === 'complete' ? `status ${status ?? 0}` : ended === 'broken' ? 'a broken connection' : ended;
    const masker = new Masker(maskingOf(this.#api.secrets, this.#api.keepCredentials));
    const address = masker.text(addressIn(`${this.#base.origin}${path}`));
    const message = `The ${step} request to ${address} ended with ${what}, so the case was not sent.`;
    return { ok: false, class: 'other', message, errorName: 'NOT_SENT', mayRetry: true };
  }

  /** Requests around the question have keys of their own, so that no server takes them for the same request. */
  #call(template: (values: TemplateValues) => FilledCall, values: TemplateValues, step = ''): ApiCall {
    const { path, headers, ...call } = template(values);
    return {
      ...call,
      path: `${this.#below}${path}` || '/',
      headers: {
        ...JSON_HEADERS,
        ...(this.#api.stream === 'sse' && { accept: 'text/event-stream' }),
        ...this.#api.calls.headers(values),
        ...headers,
        ...(values.attempt && { 'idempotency-key': `${values.attempt.key}${step}` }),
      },
    };
  }
}

/** Why a job has no answer; undefined if it has one, or if the reply is not JSON, which the reader reports. */
function timedOut(last: HttpAnswer, latencyMs: number) {
  return { answer: { ...last, ended: 'timeout' as const }, latencyMs };
}

function reportedBy(document: unknown, poll: NonNullable<ApiCalls['poll']>): string | undefined {
  if (poll.hasFailed(document)) return 'The job failed, according to poll.failed.';
  const isLost = document !== undefined && poll.state(document) === undefined;
  return isLost ? 'The reply to a poll has no state at poll.until.path.' : undefined;
}

/** Notes when each frame was complete. */
class ArrivalTimes implements FrameTimes {
  readonly #counter: FrameCounter;
  readonly times: number[] = [];

  constructor(format: StreamFormat) {
    this.#counter = new FrameCounter(format);
  }

  take(chunk: Buffer, atMs: number): void {
    for (let left = this.#counter.take(chunk); left > 0; left--) this.times.push(atMs);
  }

  end(atMs: number): void {
    for (let left = this.#counter.end(); left > 0; left--) this.times.push(atMs);
  }
}

function isGood({ ended, status = 0 }: HttpAnswer): boolean {
  return ended === 'complete' && status >= 200 && status < 300;
}

function documentIn({ body }: HttpAnswer): unknown {
  const reading = readJson(body, { bytesMax: body.length });
  return reading.ok ? reading.value : undefined;
}

/** The failure of a request that Proctor could not make. */
export function notSent(message: string): FailedAttempt {
  return { ok: false, class: 'other', message, errorName: 'NOT_SENT', mayRetry: false };
}
