import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { meant, readRegular } from '../base/regular.ts';
import type { Gate } from '../judge/gate.ts';

/** What a command says of its gate. */
export interface GateSettings {
  /** The file of a gate. */
  readonly gate?: string;
  readonly mode?: Gate['mode'];
  /** Cases of the baseline may be gone from the suite. */
  readonly allowRemoved?: boolean;
}

/** The gate of a file, and what was said beside it. */
export async function gateFor({ gate: file, mode, allowRemoved }: GateSettings, cwd: string): Promise<Gate> {
  const [{ gateOf }, { readGate }] = await Promise.all([import('../judge/gate.ts'), import('../judge/gate-file.ts')]);
  const flags = { ...(mode && { mode }), ...(allowRemoved && { allow_removed: true }) };
  if (file === undefined) return gateOf(flags);
  const bytes = readRegular(meant(path.resolve(cwd, file)), GATE_BYTES_MAX);
  if (!bytes) {
    const name = printable(path.basename(file));
    throw new Fault('no_gate', `"${name}" is not balanced, proven or strict, and not a gate file of at most 1 MiB.`);
  }
  return { ...readGate(bytes), ...flags };
}

const GATE_BYTES_MAX = 1024 * 1024;
