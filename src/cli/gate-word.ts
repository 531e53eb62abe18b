export type Mode = 'balanced' | 'proven' | 'strict';

/** What `--gate` says: the name of a mode, or the file of a gate. */
export function gateOf(word: string | undefined): { mode?: Mode; gate?: string } {
  if (word === undefined) return {};
  return MODES.has(word) ? { mode: word as Mode } : { gate: word };
}

const MODES: ReadonlySet<string> = new Set<Mode>(['balanced', 'proven', 'strict']);
