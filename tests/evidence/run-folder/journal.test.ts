import { appendFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Journal, JOURNAL, readJournal } from '../../../src/evidence/run-folder/journal.ts';
import { temporaryFolder } from '../../support/support.ts';

const LINES = [{ is: 'planned', plan: { text: 'a "quoted"\nline — €😀' } }, { is: 'started', atMs: 1 }, { is: 'read' }];

function written(lines: readonly object[] = LINES): { folder: string; file: string } {
  const folder = temporaryFolder();
  const journal = Journal.open<object>(folder);
  for (const line of lines) journal.append(line);
  journal.close();
  return { folder, file: path.join(folder, JOURNAL) };
}

describe('a journal', () => {
  test('returns lines in order as soon as they are written', () => {
    const folder = temporaryFolder();
    const journal = Journal.open<object>(folder);
    for (const [index, line] of LINES.entries()) {
      journal.append(line);
      expect(readJournal(folder).lines).toEqual(LINES.slice(0, index + 1));
    }
    journal.close();
    expect(readJournal(folder).lines).toEqual(LINES);
  });

  test('is readable only by its owner', () => {
    expect(statSync(written().file).mode & 0o777).toBe(0o600);
  });

  test('is created once: a run cannot write into the journal of another run', () => {
    const { folder } = written();
    expect(() => Journal.open(folder)).toThrow(
      expect.objectContaining({ code: 'journal_failed', message: "The run's journal could not be written." }),
    );
    expect(readJournal(folder).lines).toEqual(LINES);
  });

  test('can be removed while it is open', () => {
    const folder = temporaryFolder();
    const journal = Journal.open<object>(folder);
    journal.append({ is: 'planned' });
    journal.remove();
    expect(existsSync(path.join(folder, JOURNAL))).toBe(false);
  });

  test('that is too large is refused before it is read', () => {
    const { folder, file } = written();
    truncateSync(file, 256 * 1024 * 1024 + 1);
    expect(() => readJournal(folder)).toThrow(expect.objectContaining({ code: 'journal_too_large' }));
  });
});

describe('a torn journal', () => {
  test('returns all complete lines, wherever it was cut', () => {
    const { folder, file } = written();
    const whole = readFileSync(file);
    for (let length = whole.length; length >= 0; length--) {
      truncateSync(file, length);
      const text = whole.subarray(0, length).toString();
      const expected = text.split('\n').length - 1;
      const { lines, isOurs } = readJournal(folder);
      expect(isOurs).toBe(expected > 0);
      // Without a complete line there is no proof, and any lines that parse are returned for display.
      if (isOurs) expect(lines).toEqual(LINES.slice(0, expected));
      else expect(lines.length).toBeLessThanOrEqual(1);
    }
  });

  test.each([
    ['zeros, as after a power failure', Buffer.alloc(4_096)],
    ['bytes that are not text', Buffer.from([0xff, 0xfe, 0x80, 0x0a, 0xc3])],
    ['values that are not objects', Buffer.from('null\n7\n"x"\n[]\n{}\ntrue\n[{"is":"planned"}]\n')],
    ['blank lines', Buffer.from('\n\n \n')],
  ])('that ends with %s returns the lines before that', (_, garbage) => {
    const { folder, file } = written();
    appendFileSync(file, garbage);
    expect(readJournal<{ is?: string }>(folder).lines.filter(({ is }) => is !== undefined)).toEqual(LINES);
  });

  test('that ends with random bytes can be read', () => {
    const { folder, file } = written();
    const whole = readFileSync(file);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(whole.length), (garbage, length) => {
        writeFileSync(file, Buffer.concat([whole.subarray(0, length), garbage]));
        for (const line of readJournal<object>(folder).lines)
          expect(typeof line === 'object' && line !== null).toBe(true);
      }),
    );
  });
});
