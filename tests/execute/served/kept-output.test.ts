import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeptOutput } from '../../../src/execute/served/kept-output.ts';

interface Asked {
  readonly awaited?: string;
  readonly secrets?: readonly string[];
}

function keep(said: readonly (string | Buffer)[], { awaited, secrets = [] }: Asked = {}) {
  let seen = 0;
  const output = new KeptOutput(
    {
      run: [],
      cwd: '/',
      env: {},
      stderr: 'merged',
      ...(awaited !== undefined && { awaited }),
      stop: { signal: 'SIGTERM', withinMs: 0 },
      keep: { headBytes: 1_000_000, tailBytes: 0 },
      secrets,
      keepCredentials: false,
    },
    () => seen++,
  );
  for (const piece of said) output.take(Buffer.from(piece as string));
  const kept = output.end();
  return { seen, lines: output.lastLines(), text: Buffer.from(kept.head).toString(), kept };
}

describe('the awaited text', () => {
  test('is detected once if the output contains it, however the output is split', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(letters, { maxLength: 8 }),
        fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 }),
        (said, awaited) => {
          expect(keep(said, { awaited }).seen).toBe(said.join('').includes(awaited) ? 1 : 0);
        },
      ),
      { numRuns: 2_000, seed: 1 },
    );
  });

  test('may contain multi-byte characters, or be a secret', () => {
    const bytes = Buffer.from('prêt à servir');
    expect(keep([bytes.subarray(0, 3), bytes.subarray(3)], { awaited: 'prêt' }).seen).toBe(1);
    const secret = keep(['key hunter2-hunter2'], { awaited: 'hunter2-hunter2', secrets: ['hunter2-hunter2'] });
    expect(secret).toMatchObject({ seen: 1, text: 'key [masked]', lines: ['key [masked]'] });
  });
});

describe('the last lines', () => {
  test('are the last 20 that are not empty, each cut to 400 characters', () => {
    const { lines } = keep([Array.from({ length: 50 }, (_, no) => `\n${no} ${'x'.repeat(500)}\r\n`).join('')]);
    expect(lines).toHaveLength(20);
    expect(lines.map(line => line.length)).toEqual(Array(20).fill(400));
    expect([lines[0]?.slice(0, 4), lines.at(-1)?.slice(0, 4)]).toEqual(['30 x', '49 x']);
  });

  test('need no final line feed, and omit a line whose start is gone if another follows', () => {
    expect(keep(['one\ntwo']).lines).toEqual(['one', 'two']);
    expect(keep([`${'x'.repeat(20_000)}\nlast`]).lines).toEqual(['last']);
    expect(keep(['y'.repeat(20_000)]).lines).toEqual(['y'.repeat(400)]);
    expect(keep([]).lines).toEqual([]);
  });

  test('do not depend on how the output is split', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\t', '\u001b', '\u0000'), maxLength: 200 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 20 }), (said, size) => {
        const bytes = Buffer.from(said);
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        );
        expect(keep(pieces)).toEqual({ ...keep([bytes]) });
      }),
      { numRuns: 300, seed: 1 },
    );
  });

  test('are safe for a terminal, and lose their colours', () => {
    const { lines } = keep([
      '\u001b[1;31mred\u001b[0m\tand \u001b]0;title\u0007\u202e',
      Buffer.from([0x0a, 0xff, 0x0a]),
    ]);
    expect(lines).toEqual(['red and \\u{1b}]0;title\\u{7}\\u{202e}', '\ufffd']);
  });
});
