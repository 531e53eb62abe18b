/** A stretch of a line in one style. `style` is a list of class names, empty for plain text. */
export interface AnsiPiece {
  readonly text: string;
  readonly style: string;
}

interface AnsiState {
  hue: string;
  readonly looks: Set<string>;
}

/**
 * Reads the colours of terminal output line by line. Every other sequence stays in the text, so nothing that a program
 * printed is hidden. Ignores backgrounds, inverse and concealed text for the same reason.
 */
export function ansiReader(): (line: string) => AnsiPiece[] {
  const state: AnsiState = { hue: '', looks: new Set() };
  return line => {
    const pieces: AnsiPiece[] = [];
    const push = (text: string): void => {
      if (text !== '') pieces.push({ text, style: [state.hue, ...state.looks].filter(Boolean).join(' ') });
    };
    let end = 0;
    for (const { 0: sequence, 1: codes = '', index } of line.matchAll(COLOURS)) {
      if (pieces.length >= PIECES_MAX) break;
      push(line.slice(end, index));
      apply(state, codes);
      end = index + sequence.length;
    }
    push(line.slice(end));
    return pieces;
  };
}

/** The text of a line without its colours. */
export const withoutColours = (line: string): string => line.replace(COLOURS, '');

/** A sequence that sets colours. Longer ones are not colours, but noise. */
const COLOURS = /\u001b\[([\d;:]{0,64})m/g;

/** The rest of a line with more pieces is shown with its sequences as text. */
const PIECES_MAX = 200;

const HUES = ['', 'ansi-red', 'ansi-green', 'ansi-yellow', 'ansi-blue', 'ansi-magenta', 'ansi-cyan', ''];
const LOOKS: Readonly<Record<number, string>> = {
  1: 'ansi-bold',
  2: 'ansi-faint',
  3: 'ansi-italic',
  4: 'ansi-underline',
  9: 'ansi-struck',
};
const ENDS: Readonly<Record<number, readonly string[]>> = {
  22: ['ansi-bold', 'ansi-faint'],
  23: ['ansi-italic'],
  24: ['ansi-underline'],
  29: ['ansi-struck'],
};

function apply(state: AnsiState, codes: string): void {
  const numbers = codes.split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 38 || code === 48) {
      const [hue, length] = chosen(numbers.slice(at + 1));
      if (code === 38) state.hue = hue;
      at += length;
    } else applyOne(state, code);
  }
}

function applyOne(state: AnsiState, code: number): void {
  const look = LOOKS[code];
  if (code === 0) {
    state.hue = '';
    state.looks.clear();
  } else if (look !== undefined) state.looks.add(look);
  else if (ENDS[code]) for (const one of ENDS[code]) state.looks.delete(one);
  else if (code >= 30 && code <= 37) state.hue = HUES[code - 30] ?? '';
  else if (code >= 90 && code <= 97) state.hue = code === 90 ? 'ansi-faint' : (HUES[code - 90] ?? '');
  else if (code === 39) state.hue = '';
}

/** The hue of an extended colour, `5;n` or `2;r;g;b`, and how many numbers it takes. */
function chosen([kind, ...rest]: readonly number[]): readonly [hue: string, length: number] {
  if (kind === 2) return [hueOf(rest[0] ?? 0, rest[1] ?? 0, rest[2] ?? 0), 4];
  if (kind !== 5) return ['', 1];
  const index = rest[0] ?? 0;
  if (index < 8) return [HUES[index] ?? '', 2];
  if (index < 16) return [index === 8 ? 'ansi-faint' : (HUES[index - 8] ?? ''), 2];
  if (index >= 232) return ['', 2];
  const cube = index - 16;
  return [hueOf(Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6), 2];
}

/** The nearest of six hues, which have enough contrast in both themes; none for grey. */
function hueOf(red: number, green: number, blue: number): string {
  const high = Math.max(red, green, blue);
  const middle = (high + Math.min(red, green, blue)) / 2;
  if (high === 0 || high - Math.min(red, green, blue) < high / 4) return '';
  const bits = (red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0);
  return HUES[bits] ?? '';
}
