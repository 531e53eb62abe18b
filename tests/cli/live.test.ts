import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPrintable } from '../../src/base/printable.ts';
import { LiveText } from '../../src/cli/text/live.ts';
import { until } from '../support/runs.ts';

/** The pieces of a text that are shown. */
function live(): { text: LiveText; shown: string[] } {
  const shown: string[] = [];
  return { text: new LiveText(piece => shown.push(piece)), shown };
}

function shownOf(...pieces: readonly (string | Uint8Array)[]): string[] {
  const { text, shown } = live();
  for (const piece of pieces) text.take(Buffer.from(piece as string));
  text.end();
  return shown;
}

describe('lines', () => {
  test('are shown once they are complete', () => {
    const { text, shown } = live();
    text.take(Buffer.from('one'));
    expect(shown).toEqual([]);
    text.take(Buffer.from(' two\nthree\nfo'));
    expect(shown).toEqual(['one two\nthree\n']);
    text.take(Buffer.from('ur\n'));
    expect(shown).toEqual(['one two\nthree\n', 'four\n']);
    text.end();
    expect(shown).toHaveLength(2);
  });

  test('from two streams are never mixed in one line', () => {
    const screen: string[] = [];
    const [a, b] = [new LiveText(piece => screen.push(piece)), new LiveText(piece => screen.push(piece))];
    a.take(Buffer.from('aa'));
    b.take(Buffer.from('bb'));
    a.take(Buffer.from('aa\n'));
    b.take(Buffer.from('bb\n'));
    a.end();
    b.end();
    expect(screen).toEqual(['aaaa\n', 'bbbb\n']);
  });

  test('that are incomplete are shown at the end', () => {
    expect(shownOf('one\ntw', 'o')).toEqual(['one\n', 'two']);
    expect(shownOf()).toEqual([]);
  });

  test('that arrive slowly are shown in part, and no part is shown twice', async () => {
    const { text, shown } = live();
    text.take(Buffer.from('Name? '));
    expect(shown).toEqual([]);
    await until('the beginning is shown', () => shown.length > 0);
    text.take(Buffer.from('Ada\n'));
    text.end();
    expect(shown).toEqual(['Name? ', 'Ada\n']);
  });

  test('without an end are flushed at a maximum length', () => {
    const { text, shown } = live();
    const flood = 'x'.repeat(5_000);
    text.take(Buffer.from(flood));
    expect(shown).toEqual([flood]);
    text.end();
    expect(shown).toEqual([flood]);
  });

  test('can end with a carriage return', () => {
    expect(shownOf('10%\r20%\rdone\r\nnext\n').join('')).toBe('10%\n20%\ndone\nnext\n');
  });
});

describe('the live output', () => {
  test.each([
    ['a colour', '\u001b[31mred\u001b[0m\n', '\\u{1b}[31mred\\u{1b}[0m\n'],
    ['a title', '\u001b]0;title\u0007\n', '\\u{1b}]0;title\\u{7}\n'],
    ['a C1 control character', 'a\u009b2Jb\n', 'a\\u{9b}2Jb\n'],
    ['a backspace', 'secret\b\b\n', 'secret\\u{8}\\u{8}\n'],
    ['a bidirectional control', 'a\u202eb\n', 'a\\u{202e}b\n'],
    ['a NUL', 'a\0b\n', 'a\\u{0}b\n'],
  ])('escapes %s', (_, said, expected) => {
    expect(shownOf(said).join('')).toBe(expected);
    expect(shownOf(...Array.from(Buffer.from(said), byte => Uint8Array.of(byte))).join('')).toBe(expected);
  });

  test('does not escape a tab or a character split across two chunks', () => {
    const euro = Buffer.from('€');
    expect(shownOf('a\tb ', euro.subarray(0, 1), euro.subarray(1), '\n').join('')).toBe('a\tb €\n');
  });

  test('replaces an incomplete character', () => {
    expect(shownOf('a', Buffer.from('€').subarray(0, 2)).join('')).toBe('a\ufffd');
  });

  test('never contains a raw control character, however it is split', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constantFrom('\u001b[2J', '\r', '\n', '\t', '\u202e', '\u009b', '€').map(text => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 20 }), pieces => {
        expect(
          isPrintable(
            shownOf(...pieces)
              .join('')
              .replaceAll(/[\n\t]/g, ''),
          ),
        ).toBe(true);
      }),
    );
  });
});
