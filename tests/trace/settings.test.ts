import { describe, expect, test } from 'vitest';
import { VERSION } from '../../src/base/version.ts';
import { traceSettings } from '../../src/trace/settings.ts';

const BASE = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const ON = { [BASE]: 'http://127.0.0.1:4318' };

describe('traces', () => {
  test.each<[string, Record<string, string>]>([
    ['no variable', {}],
    ['an empty endpoint', { [BASE]: ' ' }],
    ['other variables', { OTEL_SERVICE_NAME: 'x', TRACEPARENT: 'x', OTEL_EXPORTER_OTLP_HEADERS: 'broken' }],
    ['OTEL_SDK_DISABLED', { ...ON, OTEL_SDK_DISABLED: 'TRUE' }],
    ['OTEL_TRACES_EXPORTER=none', { ...ON, OTEL_TRACES_EXPORTER: 'none' }],
    ['OTEL_SDK_DISABLED, whatever else is wrong', { [BASE]: 'ftp://x', OTEL_SDK_DISABLED: 'true' }],
  ])('are off with %s', (_, environment) => {
    expect(traceSettings(environment)).toEqual({});
  });

  test.each([
    ['http://127.0.0.1:4318', 'http://127.0.0.1:4318/v1/traces'],
    ['http://127.0.0.1:4318/', 'http://127.0.0.1:4318/v1/traces'],
    ['https://example.com/otlp/', 'https://example.com/otlp/v1/traces'],
    ['https://example.com/otlp?key=1#x', 'https://example.com/otlp/v1/traces?key=1'],
  ])('go below the base endpoint %s', (given, url) => {
    expect(traceSettings({ [BASE]: given }).settings?.url).toBe(url);
  });

  test('go exactly to their own endpoint, which comes first', () => {
    const own = { ...ON, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/custom' };
    expect(traceSettings(own).settings?.url).toBe('http://127.0.0.1:9/custom');
  });

  test('have headers, a timeout, a resource and a parent', () => {
    const { settings, warning } = traceSettings({
      ...ON,
      OTEL_EXPORTER_OTLP_HEADERS: 'unused=1',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'Authorization=Bearer%20a%3Db, x-tenant = t1,',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=ci%2Cmain',
      OTEL_SERVICE_NAME: 'nightly',
      TRACEPARENT: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    });
    expect(warning).toBeUndefined();
    expect(settings).toMatchObject({
      headers: { authorization: 'Bearer a=b', 'x-tenant': 't1' },
      timeoutMs: 2_500,
      parent: { spanId: 'b7ad6b7169203331' },
    });
    expect(Object.fromEntries(settings?.resource ?? [])).toEqual({
      'service.name': 'nightly',
      'service.version': VERSION,
      'deployment.environment.name': 'ci,main',
    });
  });

  test('have defaults, and ignore an invalid parent', () => {
    const { settings } = traceSettings({ ...ON, TRACEPARENT: 'nonsense' });
    expect(settings).toMatchObject({ headers: {}, timeoutMs: 10_000, parent: undefined });
    expect(Object.fromEntries(settings?.resource ?? [])).toMatchObject({ 'service.name': 'proctor' });
  });

  test.each<[string, Record<string, string>]>([
    [BASE, { [BASE]: 'ftp://s3cret-value/' }],
    [BASE, { [BASE]: 's3cret-value' }],
    [BASE, { [BASE]: 'http://user:s3cret-value@example.com' }],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', { ...ON, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 's3cret-value' }],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', { ...ON, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', { ...ON, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' }],
    ['OTEL_EXPORTER_OTLP_HEADERS', { ...ON, OTEL_EXPORTER_OTLP_HEADERS: 's3cret-value' }],
    ['OTEL_EXPORTER_OTLP_HEADERS', { ...ON, OTEL_EXPORTER_OTLP_HEADERS: 'a=s3cret-value%0d%0ax: 1' }],
    ['OTEL_EXPORTER_OTLP_HEADERS', { ...ON, OTEL_EXPORTER_OTLP_HEADERS: 'a=s3cret-value%zz' }],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', { ...ON, OTEL_EXPORTER_OTLP_TIMEOUT: '10s3cret-value' }],
    ['OTEL_RESOURCE_ATTRIBUTES', { ...ON, OTEL_RESOURCE_ATTRIBUTES: 's3cret-value' }],
  ])('are off with a warning that names %s, and not its value: %j', (name, environment) => {
    const { settings, warning = '' } = traceSettings(environment);
    expect(settings).toBeUndefined();
    expect(warning).toMatch(/^Proctor exports no traces: /);
    expect(warning).toContain(name);
    expect(warning).not.toContain('s3cret-value');
  });
});
