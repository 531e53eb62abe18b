import { createHmac } from 'node:crypto';
import { lstatSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeStateKey } from '../../../src/base/state-key.ts';
import { JournalChain } from '../../../src/evidence/run-folder/chain.ts';
import { temporaryFolder } from '../../support/support.ts';

/** The codes of the lines, as RFC 2104 defines them. */
function expectedCodes(folder: string, lines: readonly string[]): string[] {
  const { ino } = lstatSync(folder, { bigint: true });
  let last = `proctor-journal.v1\n${path.basename(folder)}\n${ino}\n`;
  return lines.map(line => {
    last = createHmac('sha256', makeStateKey().bytes).update(last).update(line).digest('base64url');
    return last;
  });
}

describe('the chain of a journal', () => {
  test('codes every line with HMAC-SHA-256, whatever the line contains', () => {
    const folder = temporaryFolder();
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 200 }), { maxLength: 8 }), lines => {
        const chain = JournalChain.begin(folder);
        expect(lines.map(line => chain.next(line))).toEqual(expectedCodes(folder, lines));
      }),
    );
  });

  test('codes a line that exceeds its buffer, and the short line after it', () => {
    const folder = temporaryFolder();
    const lines = ['a', '€'.repeat(64 * 1024), 'b'.repeat(64 * 1024 - 64 - 43), 'c'.repeat(64 * 1024 - 63 - 43), 'd'];
    const chain = JournalChain.begin(folder);
    expect(lines.map(line => chain.next(line))).toEqual(expectedCodes(folder, lines));
  });

  test('accepts the bytes of a line with its code, and does not advance past any other code', () => {
    const folder = temporaryFolder();
    const codes = expectedCodes(folder, ['first', 'second']);
    const chain = JournalChain.begin(folder);
    expect(chain.takes(Buffer.from('second'), codes[1] as string)).toBe(false);
    expect(chain.takes(Buffer.from('first'), codes[0] as string)).toBe(true);
    expect(chain.takes(Buffer.from('second'), codes[1] as string)).toBe(true);
  });
});
