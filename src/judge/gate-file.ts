import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { check } from '../contracts/check.ts';
import { gate, type GateFile } from '../contracts/gate/index.ts';
import { yamlDocument } from '../run/suite/yaml-document.ts';
import { YamlTrouble, YamlValues } from '../run/suite/yaml-values.ts';
import { type Gate, gateOf } from './gate.ts';

/** A gate out of the bytes of its file, YAML or JSON. What is wrong with it is said in a sentence. */
export function readGate(bytes: Uint8Array): Gate {
  const value = valueIn(bytes);
  const { violations } = check(gate, value, { strict: true, internal: false });
  const [first] = violations;
  if (first) throw new Fault('gate_invalid', `The gate file is not valid: ${first.message}`);
  return gateOf(value as GateFile);
}

function valueIn(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes).toString('utf8');
  if (bytes.length > gate.bytesMax) throw new Fault('gate_invalid', 'The gate file is larger than 1 MiB.');
  if (text.trimStart().startsWith('{')) {
    const reading = readJson(bytes, { bytesMax: gate.bytesMax });
    if (!reading.ok) throw new Fault('gate_invalid', `The gate file cannot be read: ${reading.refusal.message}`);
    return reading.value;
  }
  const document = yamlDocument(text);
  if (!('lineAt' in document)) throw notYaml(document[0]?.line, document[0]?.says ?? '');
  const { root, lineAt } = document;
  if (!root) throw new Fault('gate_invalid', 'The gate file is empty.');
  try {
    return new YamlValues().valueOf(root, 1).value;
  } catch (error) {
    if (error instanceof YamlTrouble) throw notYaml(lineAt(error.offset), error.message);
    throw error;
  }
}

function notYaml(line: number | undefined, says: string): Fault {
  return new Fault('gate_invalid', `The gate file cannot be read, line ${line ?? 1}: ${says}.`);
}
