import { isatty } from 'node:tty';

export type Paint = (style: keyof typeof CODES, text: string) => string;

/** Colours for a stream. NO_COLOR has priority, then FORCE_COLOR, then whether the stream is a terminal with colours. */
export function paintFor(fd: number): Paint {
  const isOn = hasColours(process.env, isatty(fd));
  return (style, text) => (isOn ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text);
}

/** An empty variable counts as unset, as no-color.org says. */
export function hasColours({ NO_COLOR, FORCE_COLOR, TERM }: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  if (NO_COLOR) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return isTerminal && TERM !== 'dumb';
}

const CODES = { good: '32', bad: '31', note: '33', faint: '2', strong: '1' } as const;
