import { gate, type GateFile } from '../../contracts/gate/index.ts';
import { readDocument } from '../../run/written/document.ts';
import { type Gate, gateOf } from './gate.ts';

/** A gate out of the bytes of its file, YAML or JSON. Everything that is wrong with it is said, with its line. */
export function readGate(bytes: Buffer): Gate {
  return gateOf(readDocument(bytes, { contract: gate, file: 'gate file', code: 'gate_invalid' }) as GateFile);
}
