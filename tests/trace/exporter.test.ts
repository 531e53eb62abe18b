import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SpanExporter } from '../../src/trace/exporter.ts';
import type { FinishedSpan } from '../../src/trace/span.ts';
import { accepts, TestCollector } from '../support/collector.ts';

const QUICK = { delayMs: 5, backoffMs: 1, pauseMsMax: 20, flushMs: 2_000 };

async function exporting(
  behave?: ConstructorParameters<typeof TestCollector>[0],
  over: Partial<typeof QUICK & { queueSpansMax: number; batchSpansMax: number; triesMax: number }> = {},
  timeoutMs = 5_000,
) {
  const collector = new TestCollector(behave);
  const url = `${await collector.start()}/v1/traces`;
  onTestFinished(() => collector.stop());
  const settings = { url, headers: { 'x-tenant': 't1' }, timeoutMs, resource: [] };
  return { collector, exporter: new SpanExporter(settings, { ...QUICK, ...over }) };
}

function span(name: string): FinishedSpan {
  return {
    name,
    kind: 'internal',
    context: { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '00f067aa0ba902b7', isSampled: true },
    parentSpanId: undefined,
    startMs: 1_790_000_000_000,
    endMs: 1_790_000_000_001,
    attributes: [],
    isError: false,
  };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `s${index}`);

const answering =
  (status: number, body = '{}', headers = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, headers).end(body);
  };

describe('the exporter', () => {
  test('sends every span once, in batches, with its headers', async () => {
    const { collector, exporter } = await exporting(undefined, { batchSpansMax: 4 });
    for (const name of names(10)) exporter.take(span(name));
    expect(await exporter.end()).toEqual({ delivered: 10, lost: 0, why: null });
    expect(collector.spans.map(({ name }) => name)).toEqual(names(10));
    expect(collector.requests).toHaveLength(3);
    for (const { url, headers } of collector.requests) {
      expect(url).toBe('/v1/traces');
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-tenant': 't1' });
    }
  });

  test('sends nothing without spans', async () => {
    const { collector, exporter } = await exporting();
    expect(await exporter.end()).toEqual({ delivered: 0, lost: 0, why: null });
    expect(collector.requests).toEqual([]);
  });

  test('sends spans while the run continues', async () => {
    const { collector, exporter } = await exporting();
    exporter.take(span('early'));
    await expect.poll(() => collector.spans.length).toBe(1);
    exporter.take(span('late'));
    await exporter.end();
    expect(collector.spans.map(({ name }) => name)).toEqual(['early', 'late']);
  });

  test.each([429, 502, 503, 504])('retries after %i', async status => {
    const { collector, exporter } = await exporting((response, times) =>
      times === 1 ? answering(status, '', { 'retry-after': '0' })(response) : accepts(response),
    );
    exporter.take(span('a'));
    expect(await exporter.end()).toEqual({ delivered: 1, lost: 0, why: null });
    expect(collector.requests).toHaveLength(2);
  });

  test('gives up after the last try', async () => {
    const { collector, exporter } = await exporting(answering(503), { batchSpansMax: 1 });
    exporter.take(span('a'));
    await expect.poll(() => collector.requests.length).toBe(3);
    expect(await exporter.end()).toEqual({ delivered: 0, lost: 1, why: 'the collector answered with status 503' });
    expect(collector.requests).toHaveLength(3);
  });

  test.each([400, 401, 404, 413, 500])('does not retry after %i', async status => {
    const { collector, exporter } = await exporting(answering(status));
    exporter.take(span('a'));
    const why = `the collector answered with status ${status}`;
    expect(await exporter.end()).toEqual({ delivered: 0, lost: 1, why });
    expect(collector.requests).toHaveLength(1);
  });

  test.each([301, 302, 307, 308])('does not follow the redirect %i', async status => {
    const other = new TestCollector();
    const location = `${await other.start()}/v1/traces`;
    onTestFinished(() => other.stop());
    const { exporter } = await exporting(answering(status, '', { location }));
    exporter.take(span('a'));
    expect(await exporter.end()).toMatchObject({ lost: 1, why: `the collector answered with status ${status}` });
    expect(other.requests).toEqual([]);
  });

  test('counts the spans that the collector rejects, and believes no more than it sent', async () => {
    const partial = (rejected: unknown) => JSON.stringify({ partialSuccess: { rejectedSpans: rejected } });
    for (const [rejected, lost] of [
      ['2', 2],
      [3, 3],
      [1_000, 4],
      [-1, 0],
      ['x', 0],
      [null, 0],
    ] as const) {
      const { exporter } = await exporting(answering(200, partial(rejected)));
      for (const name of names(4)) exporter.take(span(name));
      expect(await exporter.end()).toMatchObject({ delivered: 4 - lost, lost });
    }
  });

  test.each(['', 'null', '[]', '{"partialSuccess":', '<html>', `"${'x'.repeat(200_000)}"`])(
    'accepts a 200 with a useless body',
    async body => {
      const { exporter } = await exporting(answering(200, body));
      exporter.take(span('a'));
      expect(await exporter.end()).toEqual({ delivered: 1, lost: 0, why: null });
    },
  );

  test('drops and counts spans that do not fit while the collector hangs, and ends', async () => {
    const { collector, exporter } = await exporting(() => undefined, {
      batchSpansMax: 2,
      queueSpansMax: 5,
      flushMs: 50,
    });
    for (const name of names(20)) exporter.take(span(name));
    expect(await exporter.end()).toEqual({ delivered: 0, lost: 20, why: 'the collector is too slow' });
    expect(collector.requests.length).toBeLessThanOrEqual(1);
  });

  test('ends although the collector never finishes its answer', async () => {
    const { exporter } = await exporting(response => void response.writeHead(200).write('{'), { flushMs: 50 });
    exporter.take(span('a'));
    expect(await exporter.end()).toMatchObject({ delivered: 1, lost: 0 });
  });

  test('gives up a request after its timeout', async () => {
    const { collector, exporter } = await exporting(
      (response, times) => (times === 1 ? undefined : accepts(response)),
      {},
      30,
    );
    exporter.take(span('a'));
    expect(await exporter.end()).toMatchObject({ delivered: 1, lost: 0 });
    expect(collector.requests).toHaveLength(2);
  });

  test('ends if the collector is gone', async () => {
    const { collector, exporter } = await exporting();
    await collector.stop();
    exporter.take(span('a'));
    expect(await exporter.end()).toEqual({ delivered: 0, lost: 1, why: 'the collector cannot be reached' });
  });

  test('counts spans that come after its end', async () => {
    const { exporter } = await exporting();
    await exporter.end();
    exporter.take(span('a'));
    expect(await exporter.end()).toMatchObject({ delivered: 0, lost: 1 });
  });
});
