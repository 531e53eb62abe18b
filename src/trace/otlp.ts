import { VERSION } from '../base/version.ts';
import type { FinishedSpan, KnownAttribute } from './span.ts';

/** An `ExportTraceServiceRequest` in OTLP's JSON encoding: hexadecimal ids, enums as numbers, 64-bit integers as text. */
export function otlpRequest(spans: readonly FinishedSpan[], resource: readonly KnownAttribute[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: resource.map(keyValue) },
        scopeSpans: [{ scope: { name: 'proctor', version: VERSION }, spans: spans.map(otlpSpan) }],
      },
    ],
  });
}

function otlpSpan({ name, kind, context, parentSpanId, startMs, endMs, attributes, isError }: FinishedSpan): object {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: attributes.map(keyValue),
    status: { code: isError ? STATUS_ERROR : STATUS_UNSET },
  };
}

const KINDS: Readonly<Record<FinishedSpan['kind'], number>> = { internal: 1, client: 3 };
const STATUS_UNSET = 0;
const STATUS_ERROR = 2;

function keyValue([key, value]: KnownAttribute): object {
  if (typeof value === 'string') return { key, value: { stringValue: value } };
  if (typeof value === 'boolean') return { key, value: { boolValue: value } };
  return { key, value: Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value } };
}

/** A double holds the nanoseconds since 1970 only to some hundred of them, so microseconds are exact enough. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}
