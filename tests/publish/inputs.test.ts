import { describe, expect, test } from 'vitest';
import type { ScriptInput } from '../../src/contracts/published-script/index.ts';
import { downloadName, safeLabel, uniqueNames } from '../../src/publish/file-names.ts';
import { typedInputs, type UploadedFile } from '../../src/publish/inputs.ts';

const base = { name: 'x', label: 'X' };
const upload = (name: string, bytes = 3, field = 'x'): UploadedFile => ({ field, name, bytes, file: '/nowhere' });

/** The value of the input `x`, or what is wrong with it. */
function typed(input: Partial<ScriptInput>, given: unknown, files: readonly UploadedFile[] = []): unknown {
  const values = given === undefined ? {} : { x: given };
  const answer = typedInputs({ inputs: [{ ...base, ...input } as ScriptInput] }, values, files);
  return answer.ok ? answer.values['x'] : answer.faults;
}

const wrong = (message: string) => [{ field: 'x', message }];

describe('an input', () => {
  test.each<[string, Partial<ScriptInput>, unknown, unknown]>([
    ['text', { kind: 'text' }, 'hello', 'hello'],
    ['text with Windows lines', { kind: 'text' }, 'a\r\nb', 'a\nb'],
    ['optional text without a value', { kind: 'text' }, undefined, null],
    ['optional text that was cleared', { kind: 'text', default: 'a' }, '', null],
    ['text with a default', { kind: 'text', default: 'a' }, undefined, 'a'],
    ['number', { kind: 'number' }, 1.5, 1.5],
    ['number in a form', { kind: 'number' }, ' -2.50 ', -2.5],
    ['number on a decimal step', { kind: 'number', step: 0.01 }, '0.29', 0.29],
    ['number on a step from its minimum', { kind: 'number', min: 1, step: 2 }, 7, 7],
    ['choice', { kind: 'choice', choices: ['a', 'b'] }, 'b', 'b'],
    ['date', { kind: 'date', earliest: '2026-01-01' }, '2026-02-28', '2026-02-28'],
    ['several files', { kind: 'file', multiple: true }, undefined, []],
  ])('of kind %s is accepted', (_, input, given, value) => {
    expect(typed(input, given)).toEqual(value);
  });

  test.each<[string, Partial<ScriptInput>, unknown, string]>([
    ['missing', { kind: 'text', required: true }, undefined, 'This input is required.'],
    ['too long', { kind: 'text', max_length: 3 }, 'abcd', 'Use at most 3 characters.'],
    ['of the wrong form', { kind: 'text', pattern: '[a-z]+' }, 'ab1', 'This text does not have the expected form.'],
    ['a NUL', { kind: 'text' }, 'a\0', 'A text cannot contain the character U+0000.'],
    ['half a surrogate pair', { kind: 'text' }, '\ud800', 'This input must be a text.'],
    ['a list', { kind: 'text' }, ['a'], 'This input must be a text.'],
    ['not a number', { kind: 'number' }, '0x10', 'This input must be a number.'],
    ['infinite', { kind: 'number' }, '1e999', 'This input must be a number.'],
    ['below the minimum', { kind: 'number', min: 2 }, 1, 'Use a number of at least 2.'],
    ['above the maximum', { kind: 'number', max: 2 }, 3, 'Use a number of at most 2.'],
    ['between two steps', { kind: 'number', step: 0.1 }, 0.25, 'Use a multiple of 0.1.'],
    ['no choice', { kind: 'choice', choices: ['a'] }, 'A', 'Choose one of the listed values.'],
    ['no day', { kind: 'date' }, '2026-02-30', 'Use a date such as 2026-01-31.'],
    ['too early', { kind: 'date', earliest: '2026-01-02' }, '2026-01-01', 'Use 2026-01-02 or a later day.'],
    ['a text instead of a file', { kind: 'file' }, '/etc/passwd', 'Upload a file.'],
  ])('that is %s is refused', (_, input, given, message) => {
    expect(typed(input, given)).toEqual(wrong(message));
  });

  test('that does not exist is refused, even if its name is a key of every object', () => {
    const answer = typedInputs({ inputs: [] }, JSON.parse('{"__proto__":1,"constructor":2}'), []);
    expect(answer).toMatchObject({ ok: false, faults: [{ field: '__proto__' }, { field: 'constructor' }] });
  });

  test('with a slow pattern takes linear time', () => {
    expect(typed({ kind: 'text', pattern: '(a*)*b', max_length: 100_000 }, 'a'.repeat(100_000))).toEqual(
      wrong('This text does not have the expected form.'),
    );
  });

  test('names at most 100 faults', () => {
    const given = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, 1]));
    const answer = typedInputs({ inputs: [] }, given, []);
    expect(answer.ok ? 0 : answer.faults.length).toBe(100);
  });
});

describe('an uploaded file', () => {
  test('gets a name from its input, and keeps its own as a label', () => {
    expect(
      typed({ kind: 'file', accept: ['.csv'] }, undefined, [upload('C:\\Users\\ada\\Orders \u202e2026.CSV')]),
    ).toEqual({
      path: 'input/x.csv',
      label: 'Orders 2026.CSV',
      bytes: 3,
    });
  });

  test('among several gets a number', () => {
    const files = [upload('../../etc/passwd'), upload('.htaccess'), upload('a.tar.gz')];
    expect(typed({ kind: 'file', multiple: true }, undefined, files)).toMatchObject([
      { path: 'input/x-1', label: 'passwd' },
      { path: 'input/x-2.htaccess', label: '.htaccess' },
      { path: 'input/x-3.gz', label: 'a.tar.gz' },
    ]);
  });

  test.each<[string, Partial<ScriptInput>, UploadedFile[], string]>([
    ['too large', { kind: 'file', max_bytes: '2k' }, [upload('a', 2049)], 'A file is larger than 2,048 bytes.'],
    ['of another type', { kind: 'file', accept: ['.csv'] }, [upload('a.csv.exe')], 'Upload .csv files.'],
    ['one too many', { kind: 'file' }, [upload('a'), upload('b')], 'Upload one file.'],
    ['missing', { kind: 'file', required: true }, [], 'This input is required.'],
    ['for a text', { kind: 'text' }, [upload('a')], 'This input takes no file.'],
  ])('that is %s is refused', (_, input, files, message) => {
    expect(typed(input, undefined, files)).toEqual(wrong(message));
  });
});

describe('names of downloads', () => {
  test.each([
    ['output/a/report.pdf', 'report.pdf'],
    ['gpj\u202e.exe', 'gpj.exe'],
    ['a\nb\u0000\u200b.txt', 'ab.txt'],
    ['con', '_con'],
    ['NUL.txt', '_NUL.txt'],
    ['a<b>:"c|?*.txt', 'a_b___c___.txt'],
    ['dots. . .', 'dots'],
    ['...', 'file'],
    ['.bashrc', 'bashrc'],
    ['\u202e', 'file'],
    ['Größe 文件.csv', 'Größe 文件.csv'],
  ])('%j becomes %j', (name, safe) => {
    expect(downloadName(name)).toBe(safe);
  });

  test('are cut at 200 bytes, between characters', () => {
    expect(Buffer.byteLength(safeLabel('ß'.repeat(500)))).toBe(200);
  });

  test('are unique, ignoring case', () => {
    expect(uniqueNames(['a.txt', 'A.TXT', 'a.txt', 'b'])).toEqual(['a.txt', 'A (2).TXT', 'a (3).txt', 'b']);
  });
});
