import { isatty } from 'node:tty';

export type Paint = (style: keyof typeof CODES, text: string) => string;

/** Colours for a stream. NO_COLOR has priority, then FORCE_COLOR, then whether the stream is a terminal. */
export function paintFor(fd: number): Paint {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  const isOn = !NO_COLOR && (FORCE_COLOR ? FORCE_COLOR !== '0' : isatty(fd));
  return (style, text) => (isOn ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text);
}

const CODES = { good: '32', bad: '31', note: '33', faint: '2', strong: '1' } as const;
