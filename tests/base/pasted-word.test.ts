import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pastedWord } from '../../src/base/shell.ts';

/** What bash passes to a program for a command line. */
const argumentsOf = (words: readonly string[]): string[] => {
  const { stdout } = spawnSync('bash', ['-c', `printf '%s\\0' ${words.join(' ')}`]);
  return stdout.toString().split('\0').slice(0, -1);
};

describe('a word to paste into a terminal', () => {
  test('arrives unchanged, whatever it contains', () => {
    const word = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        '',
        "it's",
        '$(touch x)',
        '`id`',
        'a\nb',
        '\u001b[2J',
        '\u202egnp',
        '\\',
        "!x'",
        '-n',
        '~',
        '=ls',
        'é\u200b9',
      ),
    );
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 40 }), words => {
        const fitting = words.filter(one => pastedWord(one) !== undefined);
        expect(argumentsOf(fitting.map(one => pastedWord(one) as string))).toEqual(fitting);
      }),
      { numRuns: 30 },
    );
  });

  test('has no character that a terminal acts on, and no invisible one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), word => {
        expect(pastedWord(word) ?? '').not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e]/);
      }),
    );
  });

  test('is refused if it has a NUL or half of a surrogate pair', () => {
    expect([pastedWord('a\0b'), pastedWord('\ud800')]).toEqual([undefined, undefined]);
  });

  test('stays plain if it needs no quotes', () => {
    expect(['late-refund', 'http://127.0.0.1:8787', 'two words', "it's"].map(pastedWord)).toEqual([
      'late-refund',
      'http://127.0.0.1:8787',
      "'two words'",
      `'it'\\''s'`,
    ]);
  });
});
