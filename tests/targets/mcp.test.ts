import { describe, expect, test } from 'vitest';
import { argumentHeaders, mcpHeaderValue } from '../../src/targets/mcp-headers.ts';
import { revisionOf } from '../../src/targets/mcp.ts';

const LEGACY = { is: 'legacy', revision: '2025-11-25' };

describe('the revision of a server', () => {
  test.each([
    ['lists the modern one', { result: { supportedVersions: ['2025-11-25', '2026-07-28'] } }, { is: 'modern' }],
    ['lists an older one', { result: { supportedVersions: ['2025-06-18'] } }, { is: 'legacy', revision: '2025-06-18' }],
    ['refuses a header', { error: { code: -32020 } }, { is: 'modern' }],
    ['does not know the method', { error: { code: -32601 } }, LEGACY],
    ['requires initialization', { error: { code: -32000, data: { supported: ['2026-07-28'] } } }, LEGACY],
    ['sends a reply that is not JSON', undefined, LEGACY],
    ['sends an error that is not an object', { error: 'no' }, LEGACY],
    ['supports an older one', { error: { code: -32022, data: { supported: ['2025-11-25'] } } }, LEGACY],
    ['supports only a later one', { error: { code: -32022, data: { supported: ['2030-01-01'] } } }, null],
    ['lists only a later one', { result: { supportedVersions: ['2030-01-01'] } }, null],
    ['supports nothing', { error: { code: -32022 } }, null],
  ])('is chosen correctly if the server %s', (_what, response, revision) => {
    expect(revisionOf(response)).toEqual(revision);
  });
});

test.each([
  ['us-west1', 'us-west1'],
  ['two words', 'two words'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['', '=?base64??='],
])('encodes %j in a header as the specification requires', (text, header) => {
  expect(mcpHeaderValue(text)).toBe(header);
});

test('repeats only marked arguments in headers, even nested ones', () => {
  const schema = {
    properties: {
      region: { 'x-mcp-header': 'Region' },
      limits: { properties: { max: { 'x-mcp-header': 'Max' }, of: { 'x-mcp-header': 'Of' } } },
      tree: { 'x-mcp-header': 'Tree' },
      bad: { 'x-mcp-header': 'a b' },
      plain: {},
    },
  };
  const given = { region: 'eu', limits: { max: 3 }, tree: { a: 1 }, bad: 'x', plain: 'y', more: 'z' };
  expect(argumentHeaders(schema, given)).toEqual({ 'mcp-param-region': 'eu', 'mcp-param-max': '3' });
  expect(argumentHeaders(null, given)).toEqual({});
});
