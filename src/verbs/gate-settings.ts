import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { followLink, readRegular } from '../base/regular.ts';
import { check } from '../contracts/check.ts';
import { gate as gateContract } from '../contracts/gate/index.ts';
import { type AskedLimits, hasLimits, type GateLimits, limitsIn } from '../contracts/gate/limits/index.ts';
import type { ProjectGate } from '../contracts/project/index.ts';
import { readGate } from '../judge/compare/gate-file.ts';
import { type Gate, gateOf } from '../judge/compare/gate.ts';

export interface GateSettings {
  /** A gate file, or its keys. */
  readonly gate?: string | ProjectGate;
  readonly mode?: Gate['mode'];
  /** Accepts baseline cases that are missing from the candidate. */
  readonly allowRemoved?: boolean;
  /** Accepts cases that expect less than in the baseline. */
  readonly allowWeakened?: boolean;
  /** Limits on all cases of the candidate. Each overrides the same limit in the file. */
  readonly limits?: GateLimits;
}

/** The gate in the file, overridden by the other settings. */
export function gateFor(settings: GateSettings, cwd: string): Gate {
  const { gate: file, mode, allowRemoved, allowWeakened, limits } = settings;
  const flags = {
    ...(mode && { mode }),
    ...(allowRemoved && { allow_removed: true }),
    ...(allowWeakened && { allow_weakened: true }),
  };
  if (file === undefined) return gateOf({ ...flags, ...limitsOver(undefined, limits) });
  if (typeof file !== 'string') {
    const gate = soundGate(file);
    return { ...gate, ...flags, ...limitsOver(gate.limits, limits) };
  }
  const bytes = readRegular(followLink(path.resolve(cwd, file)), GATE_BYTES_MAX);
  if (!bytes) {
    const name = printable(path.basename(file));
    throw new Fault(
      'no_gate',
      `Cannot read the gate file "${name}", or it is larger than 1 MiB. Specify a gate file; proctor test, compare and gate also accept a mode: balanced, proven or strict.`,
    );
  }
  const gate = readGate(bytes);
  return { ...gate, ...flags, ...limitsOver(gate.limits, limits) };
}

/** The limits of a run; undefined if there are none. */
export function limitsFor(settings: GateSettings, cwd: string): AskedLimits | undefined {
  const asked = limitsIn(gateFor(settings, cwd));
  return hasLimits(asked) ? asked : undefined;
}

function soundGate(keys: ProjectGate): Gate {
  const [first] = check(
    gateContract,
    { schema_version: 'gate.v1', ...keys },
    { strict: true, internal: false },
  ).violations;
  if (first) throw new Fault('gate_invalid', `The gate is not valid: ${first.message}`);
  return gateOf(keys);
}

function limitsOver(file: GateLimits | undefined, flags: GateLimits | undefined): { readonly limits?: GateLimits } {
  return file || flags ? { limits: { ...file, ...flags } } : {};
}

const GATE_BYTES_MAX = 1024 * 1024;
