import { clip } from '../base/clip.ts';
import { monotonicMs, systemClock } from '../base/clock.ts';
import { newSpanId, newTraceId } from '../base/ids.ts';
import { Masker, maskingOf } from '../base/masker.ts';
import { hostPathIn } from '../base/path.ts';
import { printable } from '../base/printable.ts';
import { COMMON } from './names.ts';
import type { KnownAttribute, SpanAttributes, SpanKind, SpanSink } from './span.ts';
import { type SpanContext, traceparentOf } from './traceparent.ts';

export interface NewSpan {
  readonly kind?: SpanKind;
  /** By default the parent that the environment names, if any. */
  readonly parent?: SpanContext | undefined;
  readonly attributes?: SpanAttributes;
  /** Now by default. */
  readonly startMs?: number;
}

/** Makes spans. Masks and clips every text, and withholds paths of the machine, before the sink sees it. */
export class Tracer {
  readonly #sink: SpanSink;
  readonly #root: SpanContext | undefined;
  readonly #secrets = new Set<string>();
  #masker = new Masker(maskingOf([]));

  constructor(sink: SpanSink, root?: SpanContext) {
    this.#sink = sink;
    this.#root = root;
  }

  /** Masks these values in all spans that end from now on. */
  protect(secrets: readonly string[]): void {
    const added = secrets.filter(secret => secret !== '' && !this.#secrets.has(secret));
    if (added.length === 0) return;
    for (const secret of added) this.#secrets.add(secret);
    this.#masker = new Masker(maskingOf([...this.#secrets]));
  }

  begin(name: string, { parent = this.#root, ...span }: NewSpan = {}): OpenSpan {
    return new OpenSpan(name, { ...span, parent }, this.#sink, text => this.#safe(text));
  }

  #safe(text: string): string {
    if (hostPathIn(text) !== undefined) return WITHHELD;
    return clip(printable(this.#masker.text(text)), TEXT_BYTES_MAX).text;
  }
}

const WITHHELD = '[withheld]';

/** A name or an id is shorter. */
const TEXT_BYTES_MAX = 256;

export class OpenSpan {
  readonly context: SpanContext;
  readonly #name: string;
  readonly #kind: SpanKind;
  readonly #parent: SpanContext | undefined;
  readonly #sink: SpanSink;
  readonly #safe: (text: string) => string;
  readonly #attributes = new Map<string, string | number | boolean>();
  #startMs: number;
  /** On the clock that never goes back. */
  #startedMs = monotonicMs();
  #isOpen = true;

  constructor(name: string, span: NewSpan, sink: SpanSink, safe: (text: string) => string) {
    const { kind = 'internal', parent, attributes, startMs = systemClock.now() } = span;
    this.context = {
      traceId: parent?.traceId ?? newTraceId(),
      spanId: newSpanId(),
      isSampled: parent?.isSampled ?? true,
    };
    this.#name = name;
    this.#kind = kind;
    this.#parent = parent;
    this.#sink = sink;
    this.#safe = safe;
    this.#startMs = startMs;
    this.set(attributes ?? {});
  }

  get traceparent(): string {
    return traceparentOf(this.context);
  }

  get startMs(): number {
    return this.#startMs;
  }

  /** Milliseconds since 1970, on a clock that does not jump while the span is open. */
  nowMs(): number {
    return this.#startMs + monotonicMs() - this.#startedMs;
  }

  /** The work started at another time than the span was made. */
  startAt(ms: number): void {
    this.#startedMs += ms - this.#startMs;
    this.#startMs = ms;
  }

  set(attributes: SpanAttributes): void {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value))) continue;
      if (this.#attributes.size < ATTRIBUTES_MAX || this.#attributes.has(name)) this.#attributes.set(name, value);
    }
  }

  /** Ends the span once. `errorType` is a class of failure, never a message. */
  end({ errorType, endMs = this.nowMs() }: { readonly errorType?: string | undefined; readonly endMs?: number } = {}) {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (errorType !== undefined) this.set({ [COMMON.errorType]: errorType });
    if (!this.context.isSampled) return;
    this.#sink.take({
      name: this.#safe(this.#name),
      kind: this.#kind,
      context: this.context,
      parentSpanId: this.#parent?.spanId,
      startMs: this.#startMs,
      endMs: Math.max(endMs, this.#startMs),
      attributes: [...this.#attributes].map(
        ([name, value]): KnownAttribute => [name, typeof value === 'string' ? this.#safe(value) : value],
      ),
      isError: errorType !== undefined,
    });
  }
}

const ATTRIBUTES_MAX = 32;
