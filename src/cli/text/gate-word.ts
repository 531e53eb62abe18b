export type GateModeName = 'balanced' | 'proven' | 'strict';

/** `--gate` accepts the name of a mode or a gate file. */
export function gateOption(word: string | undefined): { mode?: GateModeName; gate?: string } {
  if (word === undefined) return {};
  return MODES.has(word) ? { mode: word as GateModeName } : { gate: word };
}

const MODES: ReadonlySet<string> = new Set<GateModeName>(['balanced', 'proven', 'strict']);
