import { setTimeout as wait } from 'node:timers/promises';
import { answerText } from '../base/answer-body.ts';
import { random } from '../base/ids.ts';
import { otlpRequest } from './otlp.ts';
import type { TraceSettings } from './settings.ts';
import type { FinishedSpan, SpanSink } from './span.ts';

/** What became of the spans. */
export interface ExportCounts {
  readonly delivered: number;
  readonly lost: number;
  /** Why spans were lost, as the end of a sentence; null if none was. */
  readonly why: string | null;
}

/**
 * Sends spans to a collector in the background, one batch at a time. A collector that is slow or gone costs spans, never
 * the run: the queue is bounded, and what does not fit is counted.
 */
export class SpanExporter implements SpanSink {
  readonly #settings: ExporterSettings;
  readonly #limits: ExportLimits;
  readonly #stop = new AbortController();
  #queue: FinishedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isEnding = false;
  #delivered = 0;
  #lost = 0;
  #why: string | null = null;

  constructor(settings: ExporterSettings, limits: Partial<ExportLimits> = {}) {
    this.#settings = settings;
    this.#limits = { ...LIMITS, ...limits };
  }

  take(span: FinishedSpan): void {
    if (this.#queue.length >= this.#limits.queueSpansMax || this.#stop.signal.aborted) {
      this.#lose(1, 'the collector is too slow');
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length >= this.#limits.batchSpansMax) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), this.#limits.delayMs).unref();
  }

  /** Sends what is left, for a few seconds at most, and gives up the rest. Call it once. */
  async end(): Promise<ExportCounts> {
    this.#isEnding = true;
    const deadline = setTimeout(() => this.#stop.abort(), this.#limits.flushMs);
    this.#send();
    await this.#sending;
    clearTimeout(deadline);
    this.#stop.abort();
    return { delivered: this.#delivered, lost: this.#lost, why: this.#why };
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, this.#limits.batchSpansMax);
      this.#queue = this.#queue.slice(batch.length);
      const { rejected, why } = await this.#deliver(batch);
      this.#delivered += batch.length - rejected;
      if (rejected > 0) this.#lose(rejected, why);
    }
  }

  async #deliver(batch: readonly FinishedSpan[]): Promise<Delivery> {
    const body = otlpRequest(batch, this.#settings.resource);
    for (let tries = 1; ; tries++) {
      const answer = await this.#post(body, batch.length);
      // At the end, the user waits.
      const triesMax = this.#isEnding ? 2 : this.#limits.triesMax;
      if (answer.again === undefined || tries >= triesMax || this.#stop.signal.aborted) return answer;
      const ownMs = this.#limits.backoffMs * 2 ** (tries - 1) * (1 + 0.2 * random());
      const pauseMs = Math.min(Math.max(ownMs, answer.again), this.#limits.pauseMsMax);
      await wait(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  /** Follows no redirect, because it could carry the headers to another server. */
  async #post(body: string, spans: number): Promise<Delivery> {
    const { url, headers, timeoutMs } = this.#settings;
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    const timer = setTimeout(abort, timeoutMs);
    this.#stop.signal.addEventListener('abort', abort, { once: true });
    if (this.#stop.signal.aborted) abort();
    try {
      const sent = { ...headers, 'content-type': 'application/json' };
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        headers: sent,
        body,
        signal: stop.signal,
      });
      const text = await answerText(response, ANSWER_BYTES_MAX).catch(() => undefined);
      if (response.ok) return { rejected: rejectedIn(text, spans), why: 'the collector rejected them' };
      const why = `the collector answered with status ${response.status}`;
      if (!RETRYABLE.has(response.status)) return { rejected: spans, why };
      return { rejected: spans, why, again: retryAfterMs(response.headers.get('retry-after')) };
    } catch {
      const why = stop.signal.aborted ? 'the collector did not answer in time' : 'the collector cannot be reached';
      return { rejected: spans, why, again: 0 };
    } finally {
      clearTimeout(timer);
      this.#stop.signal.removeEventListener('abort', abort);
    }
  }

  #lose(spans: number, why: string): void {
    this.#lost += spans;
    this.#why ??= why;
  }
}

export type ExporterSettings = Pick<TraceSettings, 'url' | 'headers' | 'timeoutMs' | 'resource'>;

interface Delivery {
  readonly rejected: number;
  readonly why: string;
  /** After how many milliseconds to try again; undefined if that is pointless. */
  readonly again?: number;
}

/** Tests shorten them. */
interface ExportLimits {
  readonly queueSpansMax: number;
  readonly batchSpansMax: number;
  /** How long a span waits for others. */
  readonly delayMs: number;
  readonly triesMax: number;
  readonly backoffMs: number;
  readonly pauseMsMax: number;
  /** How long the end of a run may wait for the collector. */
  readonly flushMs: number;
}

const LIMITS: ExportLimits = {
  queueSpansMax: 2_048,
  batchSpansMax: 256,
  delayMs: 2_000,
  triesMax: 3,
  backoffMs: 500,
  pauseMsMax: 5_000,
  flushMs: 3_000,
};

const ANSWER_BYTES_MAX = 65_536;
/** All others must not be retried, according to the protocol. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Retry-After in seconds. A date is not worth parsing: the next try comes soon enough. */
function retryAfterMs(text: string | null): number {
  return /^\d{1,9}$/.test(text ?? '') ? Number(text) * 1_000 : 0;
}

/** How many spans a collector that answered 200 rejected, at most all of them. */
function rejectedIn(text: string | undefined, spans: number): number {
  try {
    const answer = JSON.parse(text ?? '{}') as { partialSuccess?: { rejectedSpans?: unknown } } | null;
    const rejected = Number(answer?.partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? Math.min(rejected, spans) : 0;
  } catch {
    return 0;
  }
}
