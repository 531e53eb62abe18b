import fc from 'fast-check';
import { parseTree, visit } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { type JsonReading, readJson } from '../../src/base/json.ts';

const limits = { bytesMax: 1024 * 1024 };
const read = (text: string | Uint8Array): JsonReading => readJson(Buffer.from(text as string), limits);
const codeOf = (reading: JsonReading): string => (reading.ok ? 'accepted' : reading.refusal.code);

describe('the strict reader refuses', () => {
  const refusals: [string, string | Uint8Array, string][] = [
    ['nothing', '', 'empty'],
    ['white space alone', ' \n\t\r\n', 'empty'],
    ['100,000 spaces', ' '.repeat(100_000), 'empty'],
    ['a byte order mark', '\ufeff{}', 'byte_order_mark'],
    ['UTF-16 with a byte order mark', Buffer.from('\ufeff{"a":1}', 'utf16le'), 'not_utf8'],
    ['UTF-16 without a byte order mark', Buffer.from('{"a":1}', 'utf16le'), 'not_utf8'],
    ['big-endian UTF-16', Buffer.from('{"a":1}', 'utf16le').swap16(), 'not_utf8'],
    ['a lone 0xff', Buffer.from([0x22, 0xff, 0x22]), 'not_utf8'],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'not_utf8'],
    ['a surrogate written as UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'not_utf8'],
    ['a truncated code point', Buffer.from([0x22, 0xe2, 0x82, 0x22]), 'not_utf8'],
    ['a second document', '{} {}', 'trailing_bytes'],
    ['a NUL after the document', '{}\u0000', 'trailing_bytes'],
    ['a comment', '{} // hi', 'trailing_bytes'],
    ['NaN', '{"a":NaN}', 'not_finite'],
    ['-Infinity', '[-Infinity]', 'not_finite'],
    ['Infinity', 'Infinity', 'not_finite'],
    ['a number too large for a double', '1e400', 'not_finite'],
    ['a negative number too large for a double', '-1e999', 'not_finite'],
    ['an integer that would be rounded', '9007199254740993', 'unsafe_integer'],
    ['2^53 itself', '9007199254740992', 'unsafe_integer'],
    ['an integer that would be rounded, with a fraction', '9007199254740993.0', 'unsafe_integer'],
    ['an integer that would be rounded, with an exponent', '9007199254740993e0', 'unsafe_integer'],
    ['an integer of 5,000 digits', '1'.repeat(5_000), 'unsafe_integer'],
    ['an integer of 22 digits', '1'.repeat(22), 'unsafe_integer'],
    ['a duplicate key', '{"a":1,"a":2}', 'duplicate_key'],
    ['a duplicate key that is escaped once', '{"status":1,"\\u0073tatus":2}', 'duplicate_key'],
    ['a deeply nested duplicate key', '[{"x":{"b":1,"c":2,"b":3}}]', 'duplicate_key'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}', 'duplicate_key'],
    ['an empty key twice', '{"":1,"":2}', 'duplicate_key'],
    ['half a surrogate pair', '"\\ud800"', 'lone_surrogate'],
    ['the second half of a surrogate pair alone', '"\\udc00"', 'lone_surrogate'],
    ['the first half of a surrogate pair twice', '"\\ud800\\ud800"', 'lone_surrogate'],
    ['half a surrogate pair in a key', '{"\\udbff":1}', 'lone_surrogate'],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), 'too_deep'],
    ['200,000 levels', '['.repeat(200_000), 'too_deep'],
    ['200,000 levels of objects', '{"a":'.repeat(200_000), 'too_deep'],
    ['a flood of values', `[${'0,'.repeat(200_000)}0]`, 'too_many_values'],
    ['a flood of empty strings', `[${'"",'.repeat(200_000)}""]`, 'too_many_values'],
    ['more bytes than the limit', `"${'x'.repeat(limits.bytesMax)}"`, 'too_large'],
    ['a trailing comma in a list', '[1,]', 'syntax'],
    ['a trailing comma in an object', '{"a":1,}', 'syntax'],
    ['a leading comma', '[,1]', 'syntax'],
    ['single quotes', "{'a':1}", 'syntax'],
    ['a bare key', '{a:1}', 'syntax'],
    ['a missing colon', '{"a" 1}', 'syntax'],
    ['a missing comma', '[1 2]', 'syntax'],
    ['a list closed as an object', '[1}', 'syntax'],
    ['an object closed as a list', '{"a":1]', 'syntax'],
    ['an unclosed list', '[1', 'syntax'],
    ['an unclosed string', '"abc', 'syntax'],
    ['a raw line feed in a string', '"a\nb"', 'syntax'],
    ['an unknown escape', '"\\x41"', 'syntax'],
    ['a truncated escape', '"\\u12"', 'syntax'],
    ['an unfinished escape at the end', '"\\', 'syntax'],
    ['a leading zero', '01', 'syntax'],
    ['a plus sign', '+1', 'syntax'],
    ['a bare minus', '-', 'syntax'],
    ['a bare point', '1.', 'syntax'],
    ['a leading point', '.5', 'syntax'],
    ['a bare exponent', '1e', 'syntax'],
    ['hexadecimal', '0x10', 'trailing_bytes'],
    ['a truncated literal', 'nul', 'syntax'],
    ['a literal with an extra letter', 'nullx', 'trailing_bytes'],
    ['a capitalized literal', 'True', 'syntax'],
    ['a NUL at the start', '\u0000\u0000{}', 'syntax'],
    ['a no-break space', '\u00a0{}', 'syntax'],
  ];
  test.each(refusals)('%s', (_, text, code) => {
    expect(codeOf(read(text))).toBe(code);
  });

  test('with a position, and without quoting the text', () => {
    const reading = read('{\n  "secret": sk-live-123\n}');
    expect(reading).toEqual({
      ok: false,
      refusal: { code: 'syntax', message: 'This is not JSON: expected a value (line 2, byte 13).' },
    });
  });
});

describe('the strict reader accepts', () => {
  const accepted: [string, unknown][] = [
    ['null', null],
    ['  3 \n', 3],
    ['-0', -0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['1e308', 1e308],
    ['0.1e-9999', 0],
    ['"\\ud83d\\ude00"', '😀'],
    ['"😀"', '😀'],
    ['{"a":{"a":1},"b":{"a":1}}', { a: { a: 1 }, b: { a: 1 } }],
    ['[[],{},[{}]]', [[], {}, [{}]]],
    ['"\\u0000"', '\u0000'],
  ];
  test.each(accepted)('%s', (text, value) => {
    expect(read(text)).toMatchObject({ ok: true, value, text });
  });

  test('64 levels', () => {
    expect(read('['.repeat(64) + ']'.repeat(64)).ok).toBe(true);
  });

  test('__proto__ as a key like any other, without touching a prototype', () => {
    const reading = read('{"__proto__":{"polluted":true},"constructor":1}');
    expect(reading.ok && Object.keys(reading.value as object)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('for any input, the strict reader', () => {
  const mutated = fc
    .tuple(
      fc.json({ maxDepth: 4 }),
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', ']', '{', ':', '1', '\\', '\\ud800', '\u0000', '-', 'e5'),
    )
    .map(([text, at, insert]) => text.slice(0, at % (text.length + 1)) + insert + text.slice(at % (text.length + 1)));

  test('accepts nothing that JSON.parse refuses, and reads the same value', () => {
    fc.assert(
      fc.property(fc.oneof(mutated, fc.string(), fc.json()), text => {
        const reading = read(text);
        if (reading.ok) expect(reading.value).toEqual(JSON.parse(text));
        else if (reading.refusal.code === 'syntax') expect(() => JSON.parse(text)).toThrow();
      }),
      { numRuns: 3_000 },
    );
  });

  test('finds exactly the repeated keys that another parser finds', () => {
    const keys = fc.constantFrom('a', 'b', '\\u0061', '__proto__', '');
    const { document } = fc.letrec<{ document: string }>(tie => ({
      document: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom('1', '"x"', 'null'),
        fc.array(tie('document'), { maxLength: 3 }).map(list => `[${list.join(',')}]`),
        fc
          .array(fc.tuple(keys, tie('document')), { maxLength: 4 })
          .map(list => `{${list.map(([key, value]) => `"${key}":${value}`).join(',')}}`),
      ),
    }));
    fc.assert(
      fc.property(document, text => {
        expect(codeOf(read(text)) === 'duplicate_key').toBe(hasRepeatedKey(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test('returns a result, even if the bytes are not text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => typeof readJson(bytes, limits).ok === 'boolean'),
      { numRuns: 3_000 },
    );
  });

  test('also accepts the canonical form of an accepted document', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.double({ noNaN: true }).map(String)), text => {
        const reading = read(text);
        if (!reading.ok) return;
        const canonical = canonicalize(reading.value);
        const again = read(canonical);
        expect(again.ok && canonicalize(again.value)).toBe(canonical);
      }),
      { numRuns: 3_000 },
    );
  });
});

function hasRepeatedKey(text: string): boolean {
  if (!parseTree(text)) return false;
  const open: Set<string>[] = [];
  let repeated = false;
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty: key => {
      const keys = open.at(-1);
      if (keys?.has(key)) repeated = true;
      keys?.add(key);
    },
  });
  return repeated;
}
