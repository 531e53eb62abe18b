import type { ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { MIB } from '../../contracts/contract.ts';
import { cases, suiteCase } from '../../contracts/suite/index.ts';
import { plainText } from '../written/plain-text.ts';
import type { WrittenWrong } from '../written/wrong.ts';
import { type YamlDocument, yamlDocument } from '../written/yaml-document.ts';
import { yamlLibrary } from '../written/yaml-library.ts';
import { offsetOf } from '../written/yaml-places.ts';
import { REPEATED, YamlFault, type YamlValue, YamlValues } from '../written/yaml-values.ts';
import {
  bytesIn,
  type CaseDefaults,
  type CaseSource,
  defaultsIn,
  envelopeWrongs,
  jsonBytesMost,
  notCases,
  type Written,
} from './case-source.ts';

/** Reads one YAML document: a list of cases, or an object with the key `cases`. */
export function yamlSource(fd: number, bytes: number): CaseSource {
  const text = plainText(bytesIn(fd, bytes));
  if (typeof text !== 'string') return { written: [text], lineOf: () => 1 };
  const document = yamlDocument(text);
  if (!('lineAt' in document)) return { written: document, lineOf: () => 1 };
  const { written, nodes } = readYaml(document);
  return { written, lineOf: (index, place) => document.lineAt(offsetOf(nodes[index], place)) };
}

/** Reads in document order, because an alias refers to the latest anchor before it. */
function readYaml({ root, lineAt }: YamlDocument): { written: readonly Written[]; nodes: readonly ParsedNode[] } {
  const { isMap, isSeq } = yamlLibrary();
  if (!root) return { written: [], nodes: [] };
  const reader = new YamlReader(lineAt);
  if (isSeq(root)) reader.readCases(root);
  else if (isMap(root)) reader.readEnvelope(root);
  else return { written: [notCases((root as Scalar.Parsed).value)], nodes: [] };
  return reader.read();
}

class YamlReader {
  readonly #values = new YamlValues('a case', suiteCase.bytesMax);
  readonly #lineAt: (offset: number) => number;
  readonly #wrongs: WrittenWrong[] = [];
  readonly #cases: { readonly index: number; readonly made: YamlValue }[] = [];
  #nodes: readonly ParsedNode[] = [];
  #suite: string | undefined;
  #defaults: CaseDefaults | undefined;

  constructor(lineAt: (offset: number) => number) {
    this.#lineAt = lineAt;
  }

  readCases(list: YAMLSeq.Parsed): void {
    this.#nodes = list.items;
    let jsonBytes = 0;
    for (const [index, node] of this.#nodes.entries()) {
      keepIdAsWritten(node);
      const made = this.#made(node);
      if (made) this.#cases.push({ index, made });
      jsonBytes += made?.jsonBytes ?? 0;
      if (jsonBytes > cases.bytesMax) {
        const says = `With aliases expanded, the cases up to here are larger than ${cases.bytesMax / MIB} MiB as JSON`;
        this.#wrongs.push({ line: this.#lineAt(node.range[0]), says });
        return;
      }
    }
  }

  readEnvelope(map: YAMLMap.Parsed): void {
    const { isSeq } = yamlLibrary();
    const envelope = new Map<string, unknown>();
    for (const { key, value } of map.items) {
      const name = String((key as Scalar.Parsed).value);
      if (envelope.has(name)) this.#wrongs.push({ line: this.#lineAt(key.range[0]), says: REPEATED });
      if (name === 'cases' && isSeq(value)) {
        envelope.set(name, []);
        this.readCases(value);
      } else envelope.set(name, value ? this.#made(value)?.value : null);
    }
    const { suite } = Object.fromEntries(envelope);
    if (typeof suite === 'string') this.#suite = suite;
    const lineOf = (place: string): number => this.#lineAt(offsetOf(map, place));
    const wrongs = envelopeWrongs(Object.fromEntries(envelope));
    for (const { place, says } of wrongs) this.#wrongs.push({ line: lineOf(place), says });
    if (wrongs.length === 0) this.#defaults = defaultsIn(Object.fromEntries(envelope), lineOf);
  }

  read(): { written: readonly Written[]; nodes: readonly ParsedNode[] } {
    const suite = this.#suite;
    const written = this.#cases.map(({ index, made: { value, jsonBytes } }) => ({
      index,
      value,
      suite,
      defaults: this.#defaults,
      jsonBytesMost: jsonBytesMost(jsonBytes),
    }));
    return { written: [...this.#wrongs, ...written], nodes: this.#nodes };
  }

  #made(node: ParsedNode): YamlValue | undefined {
    try {
      // The list or object around the cases is level 1.
      return this.#values.valueOf(node, 2);
    } catch (error) {
      if (!(error instanceof YamlFault)) throw error;
      this.#wrongs.push({ line: this.#lineAt(error.offset), says: error.message });
      return undefined;
    }
  }
}

/** YAML reads `007` as a number. */
function keepIdAsWritten(node: ParsedNode): void {
  const { isMap, isScalar } = yamlLibrary();
  const id: unknown = isMap(node) ? node.get('id', true) : undefined;
  if (isScalar(id) && typeof id.value === 'number' && id.source !== undefined) id.value = id.source;
}
