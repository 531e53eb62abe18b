import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { meant, readRegular } from '../base/regular.ts';
import { type AskedLimits, hasLimits, type Limits, limitsIn } from '../contracts/gate/limits/index.ts';
import { readGate } from '../judge/gate-file.ts';
import { type Gate, gateOf } from '../judge/gate.ts';

/** What a command says of its gate. */
export interface GateSettings {
  /** The file of a gate. */
  readonly gate?: string;
  readonly mode?: Gate['mode'];
  /** Cases of the baseline may be gone from the suite. */
  readonly allowRemoved?: boolean;
  /** Cases may ask less than in the baseline. */
  readonly allowWeakened?: boolean;
  /** Limits on all cases of the new side. Each takes the place of the same limit of the file. */
  readonly limits?: Limits;
}

/** The gate of a file, and what was said beside it. */
export function gateFor(settings: GateSettings, cwd: string): Gate {
  const { gate: file, mode, allowRemoved, allowWeakened, limits } = settings;
  const flags = {
    ...(mode && { mode }),
    ...(allowRemoved && { allow_removed: true }),
    ...(allowWeakened && { allow_weakened: true }),
  };
  if (file === undefined) return gateOf({ ...flags, ...limitsOver(undefined, limits) });
  const bytes = readRegular(meant(path.resolve(cwd, file)), GATE_BYTES_MAX);
  if (!bytes) {
    const name = printable(path.basename(file));
    throw new Fault(
      'no_gate',
      `There is no gate file "${name}" of at most 1 MiB that can be read. Modes (balanced, proven, strict) are for proctor compare and proctor gate.`,
    );
  }
  const gate = readGate(bytes);
  return { ...gate, ...flags, ...limitsOver(gate.limits, limits) };
}

/** The limits that a run must keep to; undefined where there are none. */
export function limitsFor(settings: GateSettings, cwd: string): AskedLimits | undefined {
  if (settings.gate === undefined && settings.limits === undefined) return undefined;
  const asked = limitsIn(gateFor(settings, cwd));
  return hasLimits(asked) ? asked : undefined;
}

function limitsOver(file: Limits | undefined, flags: Limits | undefined): { readonly limits?: Limits } {
  return file || flags ? { limits: { ...file, ...flags } } : {};
}

const GATE_BYTES_MAX = 1024 * 1024;
