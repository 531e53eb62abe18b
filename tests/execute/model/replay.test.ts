import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RecordedRequest, Recording } from '../../../src/contracts/recording/index.ts';
import { recording as contract } from '../../../src/contracts/recording/index.ts';
import { canonicalize } from '../../../src/base/canonical.ts';
import { firstRequestDifference } from '../../../src/execute/model/difference.ts';
import { Replay } from '../../../src/execute/model/replay.ts';
import { settled, settledText, UNSEEN, VOLATILE } from '../../../src/execute/model/volatile.ts';

const request = (value: unknown, path = '/v1/messages'): RecordedRequest => ({
  method: 'POST',
  path,
  body: { form: 'json', value },
});

const recordingOf = (...requests: RecordedRequest[]): Recording => ({
  ...(contract.example as Recording),
  exchanges: requests.map((request, index) => ({
    seq: index + 1,
    request,
    response: { status: 200, content_type: null, body: null, complete: true },
  })),
});

const seqOf = (replay: Replay, asked: RecordedRequest): number | string => {
  const replayed = replay.ask(asked);
  return replayed.kind === 'answered' ? replayed.exchange.seq : replayed.says;
};

describe('a replay', () => {
  test('answers in recorded order, and answers a repeated request twice', () => {
    const replay = new Replay(recordingOf(request('a'), request('a'), request('b')));
    expect([request('a'), request('a'), request('b')].map(one => seqOf(replay, one))).toEqual([1, 2, 3]);
    expect(replay.difference).toBeUndefined();
    expect(replay.left).toBe(0);
  });

  test('accepts overlapping requests in another order', () => {
    const replay = new Replay(recordingOf(request('a'), request('b'), request('c', '/v1/other')));
    expect(seqOf(replay, request('c', '/v1/other'))).toBe(3);
    expect(seqOf(replay, request('b'))).toBe(2);
    expect(replay.left).toBe(1);
    expect(seqOf(replay, request('a'))).toBe(1);
  });

  test('reports the first different request, where and how it differs, and answers no further request', () => {
    const talk = (text: string) => ({ model: 'm', messages: ['hi', { role: 'user', content: [{ content: text }] }] });
    const long = 'x'.repeat(1_000);
    const replay = new Replay(recordingOf(request(talk('a')), request(talk(`${long} is 7 now`)), request(talk('c'))));
    expect(seqOf(replay, request(talk('a')))).toBe(1);
    const says =
      'request 2 differs from the recording at messages[1].content[0].content: ' +
      `recorded "…${'x'.repeat(16)} is 7 now", received "…${'x'.repeat(16)} is 8 now"`;
    expect(seqOf(replay, request(talk(`${long} is 8 now`)))).toBe(says);
    expect(replay.difference).toBe(says);
    expect(seqOf(replay, request(talk('c')))).toBe(says);
  });

  test.each([
    [{ a: 1 }, { a: 1, b: 2 }, 'at b: recorded nothing, received 2'],
    [{ a: 1, b: 2 }, { a: 1 }, 'at b: recorded 2, received nothing'],
    [[1, 2], [1], 'at [1]: recorded 2, received nothing'],
    [{ a: [] }, { a: {} }, 'at a: recorded [], received {}'],
    ['text', 'test', 'at its body: recorded "text", received "test"'],
    [{ a: null }, { a: '\x1b[31m' }, 'at a: recorded null, received "\\u{1b}[31m"'],
    [JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":2}'), 'at __proto__: recorded 1, received 2'],
  ])('distinguishes %j from %j', (recorded, asked, says) => {
    expect(seqOf(new Replay(recordingOf(request(recorded))), request(asked))).toBe(
      `request 1 differs from the recording ${says}`,
    );
  });

  test('compares queries', () => {
    const replay = new Replay(recordingOf(request('a', '/v1?beta=true')));
    expect(seqOf(replay, request('a', '/v1?beta=false'))).toBe(
      'request 1 differs from the recording at its query: recorded "?beta=true", received "?beta=false"',
    );
  });

  test('reports its end, and an endpoint without further requests', () => {
    const one = recordingOf(request('a'));
    const over = new Replay(one);
    seqOf(over, request('a'));
    expect(seqOf(over, request('b'))).toBe('request 2 is not in the recording, which has 1 request');
    expect(seqOf(new Replay(one), request('a', '/v1/count'))).toBe(
      'request 1 is not in the recording, which has no more POST /v1/count requests',
    );
  });

  test('compares with the most similar recorded request', () => {
    const replay = new Replay(recordingOf(request({ a: 'title' }), request({ a: 'main', b: 1 })));
    expect(seqOf(replay, request({ a: 'main', b: 2 }))).toContain('at b: recorded 1, received 2');
  });
});

const hex = (length: number) =>
  fc
    .array(fc.nat(15), { minLength: length, maxLength: length })
    .map(digits => digits.map(digit => digit.toString(16)).join(''));
/** Ends in a letter and a digit, because only digits would be a number and only letters a word. */
const hash = (length: number) => hex(length - 2).map(text => `${text}a1`);
const instant = fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true });

/** The start of Claude's first request. */
const gitStatus = (commits: readonly string[], status = '(clean)'): string =>
  `\n# gitStatus\nCurrent branch: x\n\nStatus:\n${status}\n\nRecent commits:\n${commits.join('\n')}\n\nMore.\n`;

/** Examples of volatile parts. */
const VALUES: Record<string, fc.Arbitrary<string>> = {
  commits: fc
    .array(fc.tuple(hex(7), fc.stringMatching(/^[ -~]{1,40}$/)), { minLength: 1, maxLength: 5 })
    .map(commits => gitStatus(commits.map(commit => commit.join(' ')))),
  run: fc.tuple(fc.constantFrom('agent', 'script'), hex(12)).map(([kind, end]) => `${kind}_20261116_084851_${end}`),
  uuid: fc.uuid().map(id => `msg_${id}`),
  id: hex(6).map(id => `Chunk ID: ${id}`),
  instant: instant.chain(date =>
    fc.constantFrom(
      date.toISOString(),
      date.toISOString().slice(0, 10),
      date.toISOString().slice(0, 19).replace('T', ' '),
      date.toUTCString().replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, '$1 $3 $2 $5 $4'),
    ),
  ),
  hash: fc.constantFrom(7, 12, 40, 64).chain(hash),
  temporary: fc.oneof(fc.stringMatching(/^[A-Za-z0-9]{10}$/), hex(10)).map(end => `/tmp/tmp.${end}`),
  duration: fc
    .tuple(fc.nat(99_999), fc.constantFrom('ms', 's', ' seconds'))
    .map(([count, unit]) => `${count / 100}${unit}`),
  port: fc.nat(65_535).map(port => `127.0.0.1:${port}`),
};

describe('volatile parts', () => {
  test('are all tested here, and each has a reason', () => {
    expect([...new Set(VOLATILE.map(({ what }) => what))].sort()).toEqual(Object.keys(VALUES).sort());
    for (const { why } of VOLATILE) expect(why).toMatch(/^[A-Z].*\.$/s);
  });

  test.each(Object.entries(VALUES))('of kind %s count as equal', (_, values) => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        for (const around of [
          (text: string) => text,
          (text: string) => `On ${text}, done.`,
          (text: string) => `(${text})\n`,
        ])
          expect(settledText(around(a))).toBe(settledText(around(b)));
      }),
    );
  });

  test('do not include ordinary words and numbers', () => {
    const word = fc.stringMatching(/^[g-z]{1,8}$/);
    const same = (text: string): void => {
      expect(settledText(text)).toBe(text);
    };
    fc.assert(fc.property(fc.array(word), words => same(words.join(' '))));
    fc.assert(fc.property(fc.nat(), count => same(`has ${count} files`)));
    for (const text of ['defaced', '1234567', 'v1.2.3', 'room 101', 'May 5', '10:30', 'feedface', 'a 3 s1']) same(text);
  });

  test('are replaced idempotently, in linear time', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), ...Object.values(VALUES)), fc.string(), (a, b) => {
        const once = settledText(a + b);
        expect(settledText(once)).toBe(once);
      }),
    );
    for (const piece of [
      'Status:\n(clean)\n\nRecent commits:\n',
      'abcdef0 \n',
      '2026-',
      'a1',
      '0',
      'Mon Nov ',
      'agent_20261116_',
      '127.0.0.1:',
      'deadbeef-',
      ' ',
    ])
      expect(settledText(piece.repeat(50_000)).length).toBeGreaterThan(0);
  });

  test('are replaced only in strings, at any depth, not in keys and numbers', () => {
    const id = '6f1c2b34-5d6e-4f70-8a91-b2c3d4e5f607';
    const value = JSON.parse(
      `{"__proto__":{"${id}":["${id}",1792144800000]},"a":[[null,true,"x ${id} y"]]}`,
    ) as unknown;
    expect(JSON.stringify(settled(value))).toBe(
      `{"__proto__":{"${id}":["<uuid>",1792144800000]},"a":[[null,true,"x <uuid> y"]]}`,
    );
  });
});

test('finds a difference unless two values are equal', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      expect(firstRequestDifference(a, a)).toBeUndefined();
      expect(firstRequestDifference(a, b) === undefined).toBe(canonicalize(a) === canonicalize(b));
    }),
  );
});

test('recognizes short hashes of digits by their position', () => {
  for (const place of [
    (hash: string) => `${hash} first commit\n`,
    (hash: string) => `x\n${hash} x`,
    (hash: string) => `[main (root-commit) ${hash}] x`,
  ])
    expect(settledText(place('9142130'))).toBe(settledText(place('faa587b')));
  expect(settledText('it has 9142130 lines')).toBe('it has 9142130 lines');
});

test("ignores commits only at the start of Claude's request", () => {
  const other = ['0d9f3a1 One', '1234567 Two'];
  expect(settledText(gitStatus(['faa587b One']))).toBe(settledText(gitStatus(other)));
  expect(settledText(gitStatus(['faa587b One']))).not.toBe(settledText(gitStatus(other, ' M a.txt')));
  const listed = (commits: readonly string[]): string => `Recent commits:\n${commits.join('\n')}\n`;
  expect(settledText(listed(['faa587b One']))).not.toBe(settledText(listed(other)));
});

test('does not compare members that the model does not see', () => {
  const replay = new Replay(recordingOf(request({ model: 'm', client_metadata: { turn: 1 } })));
  expect(seqOf(replay, request({ model: 'm', client_metadata: {} }))).toBe(1);
  for (const { why } of UNSEEN) expect(why).toMatch(/^[A-Z].*\.$/s);
});
