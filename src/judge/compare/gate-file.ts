import { gate, type GateFile } from '../../contracts/gate/index.ts';
import { readDocument } from '../../run/written/document.ts';
import { type Gate, gateOf } from './gate.ts';

/** Parses a gate file in YAML or JSON. Reports every problem with its line. */
export function readGate(bytes: Buffer): Gate {
  return gateOf(readDocument(bytes, { contract: gate, file: 'gate file', code: 'gate_invalid' }) as GateFile);
}
