export type Mode = 'balanced' | 'proven' | 'strict';

/** `--gate` takes the name of a mode or a gate file. */
export function gateOf(word: string | undefined): { mode?: Mode; gate?: string } {
  if (word === undefined) return {};
  return MODES.has(word) ? { mode: word as Mode } : { gate: word };
}

const MODES: ReadonlySet<string> = new Set<Mode>(['balanced', 'proven', 'strict']);
