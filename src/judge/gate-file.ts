import { parseDocument } from 'yaml';
import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { notJson } from '../base/canonical.ts';
import { check } from '../contracts/check.ts';
import { gate, type GateFile } from '../contracts/gate/index.ts';
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
  const document = parseDocument(text, { schema: 'core', uniqueKeys: true });
  const [error] = document.errors;
  if (error) {
    const line = error.linePos?.[0].line;
    throw new Fault('gate_invalid', `The gate file is no YAML${line === undefined ? '' : ` (line ${line})`}.`, {
      cause: error,
    });
  }
  const value = plainValue(document);
  if (notJson(value)) throw new Fault('gate_invalid', 'The gate file holds something that JSON cannot.');
  return value;
}

/** A gate has no use for names that stand for parts of it, and such names can multiply without end. */
function plainValue(document: { toJS(options: { maxAliasCount: number }): unknown }): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (cause) {
    throw new Fault('gate_invalid', 'The gate file has names that stand for parts of it.', { cause });
  }
}
