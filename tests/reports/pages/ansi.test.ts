import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ansiReader, withoutColours } from '../../../web/shared/ansi.ts';

const ESC = '\u001b';
const read = (line: string) => ansiReader()(line);

describe('terminal colours', () => {
  test('become styles, and the sequences leave the text', () => {
    expect(read(`${ESC}[1;32mPASS${ESC}[0m a`)).toEqual([
      { text: 'PASS', style: 'ansi-green ansi-bold' },
      { text: ' a', style: '' },
    ]);
  });

  test('last until they are reset, even across lines', () => {
    const line = ansiReader();
    expect(line(`${ESC}[31mred`)).toEqual([{ text: 'red', style: 'ansi-red' }]);
    expect(line('still')).toEqual([{ text: 'still', style: 'ansi-red' }]);
    expect(line(`${ESC}[mplain`)).toEqual([{ text: 'plain', style: '' }]);
  });

  test.each([
    ['38;5;9', 'ansi-red'],
    ['38;5;196', 'ansi-red'],
    ['38;5;21', 'ansi-blue'],
    ['38;5;244', ''],
    ['38;2;20;200;40', 'ansi-green'],
    ['38:2:90:120:255', 'ansi-blue'],
    ['38;2;128;128;130', ''],
    ['96', 'ansi-cyan'],
    ['3;4;9', 'ansi-italic ansi-underline ansi-struck'],
    ['48;5;196;35', 'ansi-magenta'],
  ])('%s is shown as %j', (codes, style) => {
    expect(read(`${ESC}[${codes}mx`)).toEqual([{ text: 'x', style }]);
  });

  test('never hide text: backgrounds, inverse and concealed text have no effect', () => {
    expect(read(`${ESC}[30;40mblack${ESC}[8mconcealed${ESC}[7minverse`).map(({ style }) => style)).toEqual([
      '',
      '',
      '',
    ]);
  });

  test('leave every other sequence in the text', () => {
    const hostile = `${ESC}]0;title\u0007${ESC}[2J${ESC}[1;1H${ESC}[999999999999C${ESC}P0;1|data${ESC}\\`;
    expect(read(hostile)).toEqual([{ text: hostile, style: '' }]);
    const long = `${ESC}[${'1;'.repeat(60)}m`;
    expect(read(long)).toEqual([{ text: long, style: '' }]);
  });

  test('stop after 200 pieces of a line, and the rest stays as text', () => {
    const pieces = read(`${ESC}[31ma${ESC}[32mb`.repeat(1_000));
    expect(pieces).toHaveLength(201);
    expect(pieces.at(-1)?.text).toContain(ESC);
  });

  test('lose nothing else, whatever the text', () => {
    const hostile = fc.string({ unit: fc.constantFrom(ESC, '[', '3', '8', ';', ':', 'm', 'x', '\u009b') });
    fc.assert(
      fc.property(hostile, text => {
        expect(
          read(text)
            .map(piece => piece.text)
            .join(''),
        ).toBe(withoutColours(text));
      }),
    );
  });
});
