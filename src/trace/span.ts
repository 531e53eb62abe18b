import type { SpanContext } from './traceparent.ts';

/** Null and undefined mean unknown: the attribute is left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type KnownAttribute = readonly [name: string, value: string | number | boolean];

/** `client`: the work happens in another process. */
export type SpanKind = 'internal' | 'client';

/** A span as it is exported: masked, clipped and complete. */
export interface FinishedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parentSpanId: string | undefined;
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: readonly KnownAttribute[];
  readonly isError: boolean;
}

/** Takes spans without waiting. It never throws. */
export interface SpanSink {
  take(span: FinishedSpan): void;
}
