import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readJson } from '../../../src/base/json.ts';
import { GATEWAYS } from '../../../src/execute/gateway/index.ts';
import { judgeBody } from '../../../src/execute/gateway/judge-body.ts';
import { APIS, askOf, judged, PLAIN } from './support.ts';

/** Any JSON except integers that a double cannot represent, which the parser refuses. */
const readable = fc
  .jsonValue({ maxDepth: 8 })
  .filter(value => readJson(Buffer.from(JSON.stringify(value)), { bytesMax: 1024 ** 2 }).ok);

describe('a serialized body', () => {
  test.each(APIS)('is unchanged except for removed members (%s)', api => {
    const { body, tool } = PLAIN[api];
    const provider = api === 'gemini' ? { googleSearch: {} } : { type: api === 'anthropic' ? 'mcp_toolset' : 'mcp' };
    fc.assert(
      fc.property(readable, fc.integer({ min: 1, max: 5 }), (value, count) => {
        // Tool parameters are the agent's data, so they may contain anything.
        const own = { ...tool, [api === 'gemini' ? 'functionDeclarations' : 'input_schema']: [value] };
        const tools = Array.from({ length: count }, () => [provider, own]).flat();
        const said = judged(api, { ...body, tools });
        expect(said).toEqual({
          out: JSON.parse(JSON.stringify({ ...body, tools: tools.filter(one => one === own) })) as unknown,
          stripped: Array.from({ length: count }, () => 'tools[]'),
        });
      }),
      { seed: 20_261_117, numRuns: 200 },
    );
  });

  test('has the original bytes if nothing was removed, whatever its text contains', () => {
    const rules = GATEWAYS.anthropic.body;
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.constantFrom('', '  ', '\n\t'), (text, space) => {
        const bytes = Buffer.from(JSON.stringify({ system: text, messages: [{ content: text }] }, null, space));
        expect(judgeBody(bytes, rules, askOf(GATEWAYS.anthropic), 1024 ** 2).bytes).toBe(bytes);
      }),
      { seed: 20_261_117, numRuns: 200 },
    );
  });
});

describe('a hostile body', () => {
  const deep = (depth: number): string => `{"messages":${'['.repeat(depth)}1${']'.repeat(depth)}}`;
  test.each([
    ['nothing', ''],
    ['text that is not JSON', 'model=m'],
    ['a list', '[]'],
    ['a word', 'null'],
    ['two documents', '{}{}'],
    ['duplicate keys', '{"tools":[],"tools":[{"type":"mcp_toolset"}]}'],
    ['duplicate keys with different escapes', String.raw`{"tools":[],"\u0074ools":[{"type":"mcp_toolset"}]}`],
    ['more depth than the parser accepts', deep(100_000)],
    ['a byte order mark', '\ufeff{}'],
    ['half a surrogate pair', String.raw`{"system":"\ud800"}`],
    ['a number that would be rounded', '{"max_tokens":90071992547409931}'],
    ['comments', '{/* */"tools":[]}'],
  ])('of %s is refused because it cannot be checked', (_, text) => {
    expect(judged('anthropic', Buffer.from(text))).toBe('body body');
  });

  test('in another encoding is refused', () => {
    for (const encoding of ['utf16le', 'latin1'] as const)
      expect(judged('anthropic', Buffer.from('{"system":"\u00e4"}', encoding))).toBe('body body');
  });

  test('cannot hide a reference by escaping its key or moving it', () => {
    const hidden = String.raw`{"messages":[{"content":[{"source":{"\u0074ype":"\u0075rl"}}]}]}`;
    expect(judged('anthropic', Buffer.from(hidden))).toBe('reference messages[].content[].source.type');
    expect(judged('anthropic', { system: [{ a: [[[{ __proto__: null, file_id: 'f' }]]] }] })).toBe(
      'reference system[].a[][][].file_id',
    );
    const proto = Buffer.from('{"messages":[{"__proto__":{"source":{"type":"url"}}}]}');
    expect(judged('anthropic', proto)).toBe('reference messages[].__proto__.source.type');
  });

  test('is refused with a short location, without values or unusual keys', () => {
    const secret = 'sk-ant-api03-a secret';
    let nested: object = { url: secret };
    for (let depth = 0; depth < 40; depth++) nested = { [`a_key_that_is_rather_long_${depth}`]: nested };
    const said = judged('anthropic', { messages: [{ [secret]: nested }] }) as string;
    expect(said).toMatch(/^reference messages\[\]\.\?\./);
    expect(said).not.toContain('secret');
    expect(said.length).toBeLessThan(220);
  });

  test.each([
    ['many messages', (n: number) => ({ messages: Array.from({ length: n }, () => ({ role: 'user', content: 'x' })) })],
    [
      'many tools',
      (n: number) => ({ tools: Array.from({ length: n }, () => ({ type: 'mcp_toolset', name: 'x' })), messages: [] }),
    ],
    [
      'many keys',
      (n: number) => ({ metadata: Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, 1])) }),
    ],
  ])('with %s is checked in one pass', (_, make) => {
    // Counts instead of measuring time: every value is read once.
    const reads = (n: number): number => {
      let count = 0;
      const rules = {
        ...GATEWAYS.anthropic.body,
        data: { has: (key: string) => (count++, GATEWAYS.anthropic.body.data.has(key)) } as ReadonlySet<string>,
        tool: (tool: Record<string, unknown>) => (count++, tool),
      };
      judgeBody(Buffer.from(JSON.stringify(make(n))), rules, askOf(GATEWAYS.anthropic), 64 * 1024 ** 2);
      return count;
    };
    expect(reads(2_000)).toBeLessThanOrEqual(2 * reads(1_000) + 10);
  });
});
