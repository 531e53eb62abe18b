import oracle from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalize, canonicalMembers, cutMembers, joinMembers, notJson } from '../../src/base/canonical.ts';
import { bytesHash, contentHash } from '../../src/base/hash.ts';
import { readJson } from '../../src/base/json.ts';

describe('canonical JSON by RFC 8785', () => {
  // Appendix B of the RFC: IEEE 754 bits and the expected text.
  const numbers: [string, string][] = [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ];
  test.each(numbers)('writes the number with the bits %s as %s', (bits, text) => {
    expect(canonicalize(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text);
  });

  test('matches the literal example in section 3.2.2', () => {
    const input = {
      numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };
    expect(canonicalize(input)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test('sorts keys by UTF-16 code unit, as section 3.2.3 requires', () => {
    const input = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u0080': 5, '\ud83d\ude00': 6, '\u00f6': 7 };
    expect(Object.values(JSON.parse(canonicalize(input)) as object).length).toBe(7);
    expect(canonicalize(input)).toBe('{"\\r":2,"1":4,"\u0080":5,"ö":7,"€":1,"😀":6,"\ufb33":3}');
  });

  test('matches the test vector of the public reference', () => {
    expect(canonicalize({ b: 1, a: [3, 1, { y: 1e21 }], n: -0, t: 0.1 + 0.2 })).toBe(
      '{"a":[3,1,{"y":1e+21}],"b":1,"n":0,"t":0.30000000000000004}',
    );
  });

  test('agrees with another implementation on any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
        expect(canonicalize(value)).toBe(oracle(value));
      }),
      { numRuns: 3_000 },
    );
  });

  test('sorts any number of keys, whatever their input order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ maxLength: 3 }), { minLength: 25, maxLength: 40 }), keys => {
        const object = Object.fromEntries(keys.map(key => [key, 1]));
        expect(canonicalize(object)).toBe(oracle(object));
      }),
      { seed: 11 },
    );
  });

  test('reuses the members of a text only if the text is already canonical', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), { minKeys: 0 }), object => {
        for (const text of [canonicalize(object), `${canonicalize(object)}\n`]) {
          const reading = readJson(Buffer.from(text), { bytesMax: 1_000_000 });
          // The reader refuses integers that would be rounded, so there is nothing to slice.
          if (!reading.ok) return;
          const members = cutMembers(reading.value as object, reading.text, reading.starts);
          const hasNumbers = /"\d+":/.test(text);
          if (members || !hasNumbers)
            expect(members && [...members]).toEqual([...canonicalMembers(reading.value as object)]);
        }
      }),
      { numRuns: 2_000 },
    );
    for (const text of [
      '{"b":1,"a":2}',
      '{ "a":1}',
      '{"a":1.0}',
      '{"a":"\\u0041"}',
      '{"a":{"c":1,"b":2}}',
      '{"a":-0}',
      '{"a":1}\n\n',
      '{"a":[{"c":1,"b":2}]}',
    ]) {
      const reading = readJson(Buffer.from(text), { bytesMax: 1_000 });
      expect(reading.ok && cutMembers(reading.value as object, reading.text, reading.starts), text).toBeUndefined();
    }
  });

  test('can be assembled from its members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), object => {
        expect(joinMembers(canonicalMembers(object))).toBe(canonicalize(object));
      }),
    );
    expect(joinMembers(canonicalMembers({ c: 1, a: 2, b: 3 }), new Set(['c', 'b', 'x']))).toBe('{"b":3,"c":1}');
  });
});

describe('the check for plain JSON', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const cases: [string, unknown, string][] = [
    ['undefined in an object', { a: undefined }, 'a'],
    ['a hole in a list', { a: Object.assign([1], { 2: 3 }) }, 'a'],
    ['NaN', [Number.NaN], '[0]'],
    ['Infinity', { x: { y: Number.POSITIVE_INFINITY } }, 'x.y'],
    ['a bigint', [1n], '[0]'],
    ['a function', { f: () => 1 }, 'f'],
    ['a symbol', [Symbol('s')], '[0]'],
    ['a Date', { at: new Date(0) }, 'at'],
    ['a Map', [new Map()], '[0]'],
    ['a boxed string', [Object('x')], '[0]'],
    ['half a surrogate pair', ['\ud800'], '[0]'],
    ['half a surrogate pair in a key', { '\ud800': 1 }, '["\\u{d800}"]'],
    ['a cycle', cycle, 'self'.concat('.self'.repeat(63))],
  ];
  test.each(cases)('finds and refuses %s', (_, value, path) => {
    expect(notJson(value)?.path).toBe(path);
    expect(() => canonicalize(value)).toThrow(TypeError);
  });

  test('accepts every result of JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), value => notJson(JSON.parse(JSON.stringify(value))) === undefined),
    );
  });
});

test('content hashes match the known answers', () => {
  expect(contentHash({})).toBe('sha256:ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356');
  expect(contentHash('a')).toBe('sha256:ee195db0cd14979ece92e4ac42d91fef87d1ee254f8df170907cd674dab12d44');
  expect(contentHash(null)).toBe('sha256:38e0b9de817f645c4bec37c0d4a3e58baecccb040f5718dc069a72c7385a0bed');
  expect(bytesHash('')).toBe('sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
});
