import { readJson } from '../base/json.ts';
import { readBelow, readRegular } from '../base/regular.ts';
import { check } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import { formOf } from '../contracts/form.ts';

/** A file in the run folder: its path, its bytes, and their hash if already known. */
export type Document = readonly [path: string, bytes: string | Uint8Array, sha256?: string];

export function documentIn(folder: string, file: string, contract: Contract): unknown {
  const bytes = readBelow(folder, file, contract.bytesMax);
  return bytes && soundDocument(bytes, contract);
}

/** Parses a document; undefined if it violates its contract. */
export function soundDocument(bytes: Buffer, contract: Contract): unknown {
  const reading = readJson(bytes, { bytesMax: contract.bytesMax });
  return reading.ok && keepsContract(reading.value, contract) ? reading.value : undefined;
}

/** The keys of a JSON object in a file, not checked against any contract; empty if it cannot be read. */
export function looseKeys(file: string, bytesMax: number): Readonly<Record<string, unknown>> {
  const bytes = readRegular(file, bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax });
  return (reading?.ok ? (reading.value ?? {}) : {}) as Record<string, unknown>;
}

/** Whether a value has the given shape. Additional keys are allowed. */
export function hasShape(value: unknown, shape: Parameters<typeof formOf>[0]): boolean {
  const form = formOf(shape);
  if (form.fits(value)) return true;
  for (const _ of form.faults(value, '')) return false;
  return true;
}

export function keepsContract(value: unknown, contract: Contract): boolean {
  return check(contract, value, { strict: false, internal: false }).violations.length === 0;
}
