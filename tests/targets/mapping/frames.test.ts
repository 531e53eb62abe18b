import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameCounter } from '../../../src/targets/mapping/frame-counter.ts';
import {
  FRAME_BYTES_MAX,
  FRAMES_MAX,
  firstOutputMs,
  type StreamFrame,
  readFrames,
  type StreamFormat,
} from '../../../src/targets/mapping/frames.ts';
import { compilePath } from '../../../src/targets/mapping/path.ts';

function framesOf(
  text: string | Uint8Array,
  format: StreamFormat = 'sse',
  arrivals?: number[],
): readonly StreamFrame[] {
  const reading = readFrames(Buffer.from(text), format, arrivals);
  if (!reading.ok) throw new Error(reading.reason);
  return reading.document.frames;
}

const dataOf = (text: string | Uint8Array, format?: StreamFormat): unknown[] =>
  framesOf(text, format).map(({ data }) => data);

function endsInFrame(text: string): boolean {
  const reading = readFrames(Buffer.from(text), 'sse');
  return reading.ok && reading.endsInFrame;
}

describe('server-sent events', () => {
  test('have an event, data and an arrival time', () => {
    const text = 'event: token\ndata: {"text":"a"}\n\n: comment\nid: 7\nretry: 10\n\ndata: [DONE]\n\n';
    expect(framesOf(text, 'sse', [5])).toEqual([
      { event: 'token', data: { text: 'a' }, at_ms: 5 },
      { event: 'message', data: '[DONE]', at_ms: null },
    ]);
  });

  // The examples of the WHATWG specification, section 9.2.6.
  test.each<[string, unknown[]]>([
    ['data: YHOO\ndata: +2\ndata: 10\n\n', ['YHOO\n+2\n10']],
    [
      ': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n',
      ['first event', 'second event'],
    ],
    ['data\n\ndata\ndata\n\ndata:', ['', '\n']],
    ['data:test\n\ndata: test\n\n', ['test', 'test']],
  ])('%j have the data %j', (text, expected) => {
    expect(dataOf(text)).toEqual(expected);
  });

  test.each<[string, string, unknown[]]>([
    ['end lines with CR, LF or CRLF', 'data: a\r\rdata: b\r\n\r\ndata: c\n\n\ndata: d\r\n\n', ['a', 'b', 'c', 'd']],
    ['may start with one byte order mark', '\ufeffdata: a\n\n', ['a']],
    ['treat a second byte order mark as text', '\ufeff\ufeffdata: a\n\ndata: b\n\n', ['b']],
    [
      'ignore unknown fields, and known ones in the wrong case',
      'Data: a\ndatas: b\nunknown-field: c\ndata: d\n\n',
      ['d'],
    ],
    ['without data yield no frames', 'event: ping\n\n\n\nid: 1\n\n', []],
    ['keep text that only looks like JSON', 'data: {"a":\n\ndata: 1.0\n\ndata: null\n\n', ['{"a":', '1.0', 'null']],
    ['read JSON strings and lists', 'data: "a\\n"\n\ndata: [1]\n\n', ['a\n', [1]]],
    ['keep JSON that the strict reader refuses as text', 'data: {"a":1,"a":2}\n\n', ['{"a":1,"a":2}']],
  ])('%s', (_, text, expected) => {
    expect(dataOf(text)).toEqual(expected);
  });

  test('do not apply the event of a frame without data to the next frame', () => {
    expect(framesOf('event: ping\n\ndata: a\n\n')[0]?.event).toBe('message');
  });

  test('drop a last frame without a blank line, and report it', () => {
    expect(dataOf('data: a\n\ndata: b\n')).toEqual(['a']);
    expect(endsInFrame('data: a\n\ndata: b\n')).toBe(true);
    expect(endsInFrame('data: a\n\ndata: b')).toBe(true);
    expect(endsInFrame('data: a\n\n: bye\n')).toBe(false);
    expect(endsInFrame('data: a\n\n')).toBe(false);
  });

  test('report the first frame with JSON that the strict reader refuses', () => {
    const refusedIn = (text: string): unknown => {
      const reading = readFrames(Buffer.from(text), 'sse');
      return reading.ok && reading.refused;
    };
    expect(refusedIn('data: [DONE]\n\ndata: {"a":\n\ndata: {}\n\n')).toBeUndefined();
    expect(refusedIn('data: {}\n\ndata: {"id":12345678901234567890}\n\ndata: {"a":1,"a":1}\n\n')).toMatchObject({
      frame: 1,
      message: expect.stringContaining('An integer exceeds'),
    });
  });

  test('keep __proto__ as an own key', () => {
    const [data] = dataOf('data: {"__proto__":{"a":1}}\n\n') as [object];
    expect(Object.keys(data)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype);
  });

  test('replace bytes that are not UTF-8', () => {
    expect(dataOf(Buffer.from('data: \xff\n\n', 'latin1'))).toEqual(['\ufffd']);
  });
});

describe('NDJSON', () => {
  test('has one frame per non-blank line', () => {
    expect(framesOf('\ufeff{"a":1}\r\n\n \t\n2\nno json\nnull', 'ndjson', [1, 2])).toEqual([
      { event: 'message', data: { a: 1 }, at_ms: 1 },
      { event: 'message', data: 2, at_ms: 2 },
      { event: 'message', data: 'no json', at_ms: null },
      { event: 'message', data: null, at_ms: null },
    ]);
  });
});

describe('a stream is refused', () => {
  test('if it has too many frames', () => {
    const frames = (count: number, text: string): Buffer => Buffer.from(text.repeat(count));
    expect(readFrames(frames(FRAMES_MAX, 'data\n\n'), 'sse').ok).toBe(true);
    expect(readFrames(frames(FRAMES_MAX + 1, 'data\n\n'), 'sse')).toEqual({ ok: false, reason: 'too_many_frames' });
    expect(readFrames(frames(FRAMES_MAX + 1, '1\n'), 'ndjson')).toEqual({ ok: false, reason: 'too_many_frames' });
  });

  test('if a frame is too large', () => {
    const refused = { ok: false, reason: 'frame_too_large' };
    const text = 'x'.repeat(FRAME_BYTES_MAX);
    expect(readFrames(Buffer.from(`data:${text}\n\n`), 'sse').ok).toBe(true);
    expect(readFrames(Buffer.from(`data:${text}\ndata:\n\n`), 'sse')).toEqual(refused);
    expect(readFrames(Buffer.from(`${text}x`), 'ndjson')).toEqual(refused);
  });
});

describe('FrameCounter', () => {
  const pieces = [
    'data',
    'data: x',
    ':',
    ' ',
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    'event: e',
    '\ufeff',
    'datas',
    '{"a":1}',
    '\t',
    'ü',
  ];
  const body = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map(parts => Buffer.from(parts.join('')));
  const splits = fc.array(fc.nat(60), { maxLength: 10 });

  test.each<StreamFormat>(['sse', 'ndjson'])('agrees with the reader of %s on any split of the bytes', format => {
    fc.assert(
      fc.property(body, splits, (bytes, cuts) => {
        const counter = new FrameCounter(format);
        const ends = [...cuts.filter(cut => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        let count = 0;
        let from = 0;
        for (const end of ends) {
          count += counter.take(bytes.subarray(from, end));
          from = end;
        }
        expect(count + counter.end()).toBe(framesOf(bytes, format).length);
      }),
      { seed: 15, numRuns: 5_000 },
    );
  });

  test('counts a frame with the chunk that completes it', () => {
    const counter = new FrameCounter('sse');
    const counts = ['data: a\n', '\ndata: b\r', '\r', '\ndata: c\n\ndata: d\n\n'].map(text =>
      counter.take(Buffer.from(text)),
    );
    expect(counts).toEqual([0, 1, 1, 2]);
    expect(counter.end()).toBe(0);
  });

  test('counts no more frames than the reader accepts', () => {
    const counter = new FrameCounter('ndjson');
    expect(counter.take(Buffer.from('1\n'.repeat(FRAMES_MAX + 5)))).toBe(FRAMES_MAX);
    expect(counter.take(Buffer.from('1\n'))).toBe(0);
  });
});

describe('the first output', () => {
  const frames = ['', null, [], {}, { other: 1 }, 'a', 'b'].map((text, index) => ({
    event: 'message',
    data: { text },
    at_ms: 10 * index,
  }));

  test('is in the first frame in which the path finds a value that is not empty', () => {
    expect(firstOutputMs(compilePath('$.data.text'), frames)).toBe(40);
    expect(firstOutputMs(compilePath("$[?@.text=='b'].text"), frames)).toBe(60);
    expect(firstOutputMs(compilePath('$.data.none'), frames)).toBeNull();
    expect(firstOutputMs(compilePath('$.data'), [{ event: 'message', data: 0, at_ms: 3 }])).toBe(3);
    expect(firstOutputMs(compilePath('$.data'), [{ event: 'message', data: 'a', at_ms: null }])).toBeNull();
  });
});
