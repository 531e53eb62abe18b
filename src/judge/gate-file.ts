import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { printable } from '../base/printable.ts';
import { check } from '../contracts/check.ts';
import { gate, type GateFile } from '../contracts/gate/index.ts';
import { JsonPlaces } from '../run/suite/json-places.ts';
import { yamlDocument } from '../run/suite/yaml-document.ts';
import { offsetOf } from '../run/suite/yaml-places.ts';
import { YamlTrouble, YamlValues } from '../run/suite/yaml-values.ts';
import { type Gate, gateOf } from './gate.ts';

/** A gate out of the bytes of its file, YAML or JSON. Everything that is wrong with it is said, with its line. */
export function readGate(bytes: Uint8Array): Gate {
  const { value, lineOf } = written(bytes);
  const { violations } = check(gate, value, { strict: true, internal: false });
  if (violations.length === 0) return gateOf(value as GateFile);
  const wrongs = violations.map(({ message, path = '' }) => ({ line: lineOf(path), says: message }));
  wrongs.sort((a, b) => a.line - b.line);
  const lines = wrongs.slice(0, WRONGS_MAX).map(({ line, says }) => `  line ${line}: ${printable(says)}`);
  const more = wrongs.length > WRONGS_MAX ? [`  and ${wrongs.length - WRONGS_MAX} more`] : [];
  throw new Fault('gate_invalid', ['The gate file is not valid:', ...lines, ...more].join('\n'));
}

const WRONGS_MAX = 20;

interface Written {
  readonly value: unknown;
  /** The line of a place such as `tolerances.score`, or of what is around it. */
  readonly lineOf: (place: string) => number;
}

function written(bytes: Uint8Array): Written {
  const text = Buffer.from(bytes).toString('utf8');
  if (bytes.length > gate.bytesMax) throw new Fault('gate_invalid', 'The gate file is larger than 1 MiB.');
  if (text.trimStart().startsWith('{')) {
    const reading = readJson(bytes, { bytesMax: gate.bytesMax });
    if (!reading.ok) throw new Fault('gate_invalid', `The gate file cannot be read: ${reading.refusal.message}`);
    const places = new JsonPlaces(reading.text);
    return { value: reading.value, lineOf: place => places.lineOf(place) };
  }
  const document = yamlDocument(text);
  if (!('lineAt' in document)) throw notYaml(document[0]?.line, document[0]?.says ?? '');
  const { root, lineAt } = document;
  if (!root) throw new Fault('gate_invalid', 'The gate file is empty.');
  try {
    const { value } = new YamlValues().valueOf(root, 1);
    return { value, lineOf: place => lineAt(offsetOf(root, place)) };
  } catch (error) {
    if (error instanceof YamlTrouble) throw notYaml(lineAt(error.offset), error.message);
    throw error;
  }
}

function notYaml(line: number | undefined, says: string): Fault {
  return new Fault('gate_invalid', `The gate file cannot be read, line ${line ?? 1}: ${says}.`);
}
