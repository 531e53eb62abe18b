import { Fault } from '../base/fault.ts';

/** How many bytes of a script's output Proctor keeps. Truncated text states its full size. */
export interface Caps {
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly htmlBytes: number;
  readonly summaryBytes: number;
}

export const DEFAULT_CAPS: Caps = {
  stdoutBytes: 200_000,
  stderrBytes: 200_000,
  htmlBytes: 500_000,
  summaryBytes: 2_000,
};

export function capsFrom(given: Partial<Caps>): Caps {
  const caps = { ...DEFAULT_CAPS, ...given };
  for (const [name, [minimum, maximum]] of Object.entries(BOUNDS) as [keyof Caps, readonly [number, number]][]) {
    const value: unknown = caps[name];
    if (!Number.isInteger(value) || (value as number) < minimum || (value as number) > maximum) {
      const range = `from ${minimum.toLocaleString('en-US')} to ${maximum.toLocaleString('en-US')}`;
      throw new Fault(
        'out_of_bounds',
        `The cap ${name} (kept_${name.replace('Bytes', '_bytes')}) must be an integer ${range}.`,
      );
    }
  }
  return caps;
}

/** The HTML and the summary must fit into result.json. */
const BOUNDS: Readonly<Record<keyof Caps, readonly [number, number]>> = {
  stdoutBytes: [1_000, 64 * 1024 ** 2],
  stderrBytes: [1_000, 64 * 1024 ** 2],
  htmlBytes: [0, 500_000],
  summaryBytes: [100, 2_000],
};

/** Keeps three quarters from the start, which is usually more informative. */
export function ends(bytes: number): { readonly headBytes: number; readonly tailBytes: number } {
  const tailBytes = Math.floor(bytes / 4);
  return { headBytes: bytes - tailBytes, tailBytes };
}
