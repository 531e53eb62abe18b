import * as incubating from '@opentelemetry/semantic-conventions/incubating';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { describe, expect, test } from 'vitest';
import { VERSION } from '../../src/base/version.ts';
import { COMMON, GEN_AI, OPERATION, OWN } from '../../src/trace/names.ts';
import { otlpRequest } from '../../src/trace/otlp.ts';
import type { FinishedSpan } from '../../src/trace/span.ts';
import { Tracer } from '../../src/trace/tracer.ts';
import { spanContextIn, traceparentOf } from '../../src/trace/traceparent.ts';
import { spansIn } from '../support/collector.ts';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

function tracing(parent?: string) {
  const spans: FinishedSpan[] = [];
  return { spans, tracer: new Tracer({ take: span => void spans.push(span) }, spanContextIn(parent)) };
}

describe('a traceparent', () => {
  test('is read and written', () => {
    const context = spanContextIn(PARENT);
    expect(context).toEqual({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      isSampled: true,
    });
    expect(context && traceparentOf(context)).toBe(PARENT);
    expect(spanContextIn(PARENT.replace(/01$/, '00'))).toMatchObject({ isSampled: false });
    expect(spanContextIn(`cc${PARENT.slice(2)}-later`)).toEqual(context);
  });

  test.each([
    undefined,
    '',
    PARENT.toUpperCase(),
    `${PARENT}-more`,
    `ff${PARENT.slice(2)}`,
    PARENT.replace(/-b7.*-/, '-0000000000000000-'),
    PARENT.replace(/-0a.*9c-/, `-${'0'.repeat(32)}-`),
    `${PARENT}\r\nx-evil: 1`,
    ` ${PARENT}`,
  ])('is ignored if it is invalid: %j', text => {
    expect(spanContextIn(text)).toBeUndefined();
  });
});

describe('spans', () => {
  test('of one trace share its id, and name their parent', () => {
    const { tracer, spans } = tracing(PARENT);
    const run = tracer.begin('run');
    const attempt = tracer.begin('attempt', { parent: run.context });
    attempt.end();
    run.end();
    run.end();
    expect(spans.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ['attempt', run.context.spanId],
      ['run', 'b7ad6b7169203331'],
    ]);
    expect(new Set(spans.map(({ context }) => context.traceId))).toEqual(new Set([run.context.traceId]));
    expect(run.context.traceId).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(attempt.traceparent).toBe(`00-${run.context.traceId}-${attempt.context.spanId}-01`);
  });

  test('without a parent begin a trace each', () => {
    const { tracer } = tracing();
    const ids = Array.from({ length: 100 }, () => tracer.begin('run').context.traceId);
    expect(new Set(ids).size).toBe(100);
    expect(ids.every(id => /^[0-9a-f]{32}$/.test(id))).toBe(true);
  });

  test('of a trace that is not sampled are not exported, but passed on', () => {
    const { tracer, spans } = tracing(PARENT.replace(/01$/, '00'));
    const run = tracer.begin('run');
    run.end();
    expect(spans).toEqual([]);
    expect(run.traceparent).toMatch(/-00$/);
  });

  test('end after they start, even if the given end is earlier', () => {
    const { tracer, spans } = tracing();
    const late = tracer.begin('late', { startMs: 1_000 });
    late.end({ endMs: 500 });
    const moved = tracer.begin('moved');
    moved.startAt(2_000);
    moved.end({ endMs: 2_250.5 });
    expect(spans.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
      [1_000, 1_000],
      [2_000, 2_250.5],
    ]);
  });

  test('mask declared secrets and well-known credentials in names and values', () => {
    const { tracer, spans } = tracing();
    tracer.protect(['hunter2-hunter2']);
    const span = tracer.begin('call hunter2-hunter2', { attributes: { a: 'x hunter2-hunter2 x', b: 'plain' } });
    span.set({ c: `token ghp_${'a1B2'.repeat(9)}` });
    span.end();
    const text = JSON.stringify(spans);
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain('a1B2a1B2');
    expect(text).toContain('plain');
  });

  test('withhold values with a path of the machine', () => {
    const { tracer, spans } = tracing();
    tracer.begin('x', { attributes: { file: 'in /home/someone/project', route: '/api/v1' } }).end();
    expect(spans[0]?.attributes).toEqual([
      ['file', '[withheld]'],
      ['route', '/api/v1'],
    ]);
  });

  test('leave out what is unknown, and limit the rest', () => {
    const { tracer, spans } = tracing();
    const span = tracer.begin('x', {
      attributes: { none: null, gone: undefined, nan: Number.NaN, no: false, zero: 0 },
    });
    span.set(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, 'é'.repeat(1_000)])));
    span.end({ errorType: 'timeout' });
    const attributes = Object.fromEntries(spans[0]?.attributes ?? []);
    expect(attributes).toMatchObject({ no: false, zero: 0, k0: 'é'.repeat(128) });
    expect(Object.keys(attributes)).toHaveLength(32);
    expect(spans[0]?.isError).toBe(true);
  });
});

describe('the encoding', () => {
  const span: FinishedSpan = {
    name: 'execute_tool search',
    kind: 'client',
    context: { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '00f067aa0ba902b7', isSampled: true },
    parentSpanId: 'b7ad6b7169203331',
    startMs: 1_790_000_000_123.25,
    endMs: 1_790_000_000_124,
    attributes: [
      ['text', 'a "b" é'],
      ['count', 42],
      ['ratio', 0.25],
      ['yes', true],
    ],
    isError: true,
  };

  test("agrees with OpenTelemetry's own encoder", () => {
    expect(plain(otlpRequest([span], [['service.name', 'proctor']]))).toEqual(plain(officially(span)));
  });

  test('is read back without loss', () => {
    expect(spansIn(otlpRequest([span], []))).toEqual([
      {
        traceId: span.context.traceId,
        spanId: '00f067aa0ba902b7',
        parentSpanId: 'b7ad6b7169203331',
        name: span.name,
        kind: 3,
        startMs: span.startMs,
        endMs: span.endMs,
        attributes: { text: 'a "b" é', count: 42, ratio: 0.25, yes: true },
        isError: true,
      },
    ]);
  });
});

/** The same span, as OpenTelemetry's own exporter would send it. */
function officially({ context, parentSpanId, ...span }: FinishedSpan): string {
  const time = (ms: number): [number, number] => [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1_000) * 1_000];
  const spanContext = (spanId: string) => ({ traceId: context.traceId, spanId, traceFlags: 1 });
  const bytes = JsonTraceSerializer.serializeRequest([
    {
      name: span.name,
      kind: 2,
      spanContext: () => spanContext(context.spanId),
      parentSpanContext: spanContext(parentSpanId ?? ''),
      startTime: time(span.startMs),
      endTime: time(span.endMs),
      status: { code: 2 },
      attributes: Object.fromEntries(span.attributes),
      links: [],
      events: [],
      duration: [0, 0],
      ended: true,
      resource: {
        attributes: { 'service.name': 'proctor' },
        merge: other => other ?? never(),
        getRawAttributes: () => [],
      },
      instrumentationScope: { name: 'proctor', version: VERSION },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    },
  ]);
  return new TextDecoder().decode(bytes);
}

function never(): never {
  throw new Error('not used');
}

/** The request without what means the same as its absence, and with 64-bit integers as text. */
function plain(json: string): unknown {
  return JSON.parse(json, (key, value: unknown) => {
    if (DEFAULTS.has(key) || value === 0 || (Array.isArray(value) && value.length === 0)) return undefined;
    return key === 'intValue' ? String(value) : value;
  });
}

const DEFAULTS: ReadonlySet<string> = new Set(['flags', 'droppedAttributesCount', 'schemaUrl']);

describe('the names', () => {
  test('are those of the pinned semantic conventions', () => {
    const known = new Set<unknown>(Object.values(incubating));
    const used = [...Object.values(GEN_AI), ...Object.values(COMMON), ...Object.values(OPERATION)];
    expect(used.filter(name => !known.has(name))).toEqual([]);
  });

  test('of Proctor have a prefix of their own', () => {
    expect(Object.values(OWN).filter(name => !/^proctor\.[a-z_.]+$/.test(name))).toEqual([]);
  });
});
