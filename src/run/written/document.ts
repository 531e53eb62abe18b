import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { printable } from '../../base/printable.ts';
import { check } from '../../contracts/check.ts';
import { type Contract, MIB } from '../../contracts/contract.ts';
import { JsonPlaces } from './json-places.ts';
import { plainText } from './plain-text.ts';
import { yamlDocument } from './yaml-document.ts';
import { offsetOf } from './yaml-places.ts';
import { hintedMessage, yamlHint } from './written-hints.ts';
import { YamlFault, YamlValues } from './yaml-values.ts';

/** Something wrong at a path such as `reply.events[0].tool`. */
interface WrittenFault {
  readonly path: string;
  readonly message: string;
}

export interface Sort {
  readonly contract: Contract;
  /** The name in messages, such as "gate file". */
  readonly file: string;
  /** The code of the fault for an invalid file. */
  readonly code: string;
  /** Finds what the contract cannot, in a document that satisfies it. */
  readonly further?: (value: unknown) => Iterable<WrittenFault>;
}

/** Reads a YAML or JSON document written by a user. Throws a fault that lists every violation with its line. */
export function readDocument(bytes: Buffer, sort: Sort): unknown {
  return readPlaced(bytes, sort).value;
}

/** Like `readDocument`, but also reports the line of every key. */
export function readPlaced(bytes: Buffer, { contract, file, code, further }: Sort): Placed {
  const placed = readWritten(bytes, { ...contract, file, code });
  const { value, lineOf } = placed;
  const { violations } = check(contract, value, { strict: true, internal: false });
  const found = violations.length === 0 ? [...(further?.(value) ?? [])] : violations;
  if (found.length === 0) return placed;
  const wrongs = found.map(({ message, path = '' }) => ({
    line: lineOf(path),
    says: hintedMessage(message, path, value),
  }));
  wrongs.sort((a, b) => a.line - b.line);
  const lines = wrongs.slice(0, WRONGS_MAX).map(({ line, says }) => `  line ${line}: ${printable(says)}`);
  const more = wrongs.length > WRONGS_MAX ? [`  and ${wrongs.length - WRONGS_MAX} more`] : [];
  throw new Fault(code, [`The ${file} is not valid:`, ...lines, ...more].join('\n'));
}

const WRONGS_MAX = 20;

export interface Placed {
  readonly value: unknown;
  /** Returns the line of a path such as `tolerances.score`, or of its nearest existing parent. */
  readonly lineOf: (place: string) => number;
}

/** Parses YAML or JSON. Throws a fault with the line if it is neither. */
export function readWritten(
  bytes: Buffer,
  { name, bytesMax, file, code }: Pick<Contract, 'name' | 'bytesMax'> & Pick<Sort, 'file' | 'code'>,
): Placed {
  const unreadable = (line: number | undefined, says: string): Fault =>
    new Fault(code, `The ${file} cannot be read, line ${line ?? 1}: ${says}.`);
  if (bytes.length > bytesMax) throw new Fault(code, `The ${file} is larger than ${bytesMax / MIB} MiB.`);
  const text = plainText(bytes);
  if (typeof text !== 'string') throw unreadable(text.line, text.says);
  if (text.trimStart().startsWith('{')) {
    const reading = readJson(bytes, { bytesMax });
    if (!reading.ok) throw new Fault(code, `The ${file} cannot be read: ${reading.refusal.message}`);
    const places = new JsonPlaces(reading.text);
    return { value: reading.value, lineOf: place => places.lineOf(place) };
  }
  const document = yamlDocument(text);
  if (!('lineAt' in document)) {
    const { line = 1, says = 'It cannot be read' } = document[0] ?? {};
    throw unreadable(line, `${says}${yamlHint(text.split('\n', line)[line - 1] ?? '', says)}`);
  }
  const { root, lineAt } = document;
  if (!root) throw new Fault(code, `The ${file} is empty.`);
  try {
    const { value } = new YamlValues(`the ${name}`, bytesMax).valueOf(root, 1);
    return { value, lineOf: place => lineAt(offsetOf(root, place)) };
  } catch (error) {
    if (error instanceof YamlFault) throw unreadable(lineAt(error.offset), error.message);
    throw error;
  }
}
