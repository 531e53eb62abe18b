import type { Alias, ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { MIB } from '../../contracts/contract.ts';
import { yamlLibrary } from './yaml-library.ts';
import { YAML_DEPTH_MAX, TOO_DEEP } from './yaml-document.ts';

/** A JSON value, and its size as JSON. */
export interface YamlValue {
  readonly value: unknown;
  readonly jsonBytes: number;
}

/** Thrown for the first node that JSON cannot represent. */
export class YamlFault extends Error {
  readonly offset: number;

  constructor(node: ParsedNode, says: string) {
    super(says);
    this.offset = node.range[0];
  }
}

/**
 * Converts nodes to values, in document order. An alias shares the value of its anchor, so an alias bomb costs no more
 * memory than its text. Its size still counts toward the limit.
 */
export class YamlValues {
  readonly #is = yamlLibrary();
  readonly #what: string;
  readonly #bytesMax: number;
  /** The latest value of each anchor; null while it is being converted. */
  readonly #anchors = new Map<string, YamlValue | null>();

  /** `what` names the limited thing in messages; `bytesMax` limits its size as JSON. */
  constructor(what: string, bytesMax: number) {
    this.#what = what;
    this.#bytesMax = bytesMax;
  }

  valueOf(node: ParsedNode, depth: number): YamlValue {
    if (depth > YAML_DEPTH_MAX) throw new YamlFault(node, TOO_DEEP);
    if (this.#is.isAlias(node)) return this.#aliased(node);
    const { anchor } = node as { anchor?: string };
    if (anchor !== undefined) this.#anchors.set(anchor, null);
    const made = this.#made(node, depth);
    if (made.jsonBytes > this.#bytesMax) {
      throw new YamlFault(
        node,
        `This value is larger than ${this.#bytesMax / MIB} MiB as JSON, the limit for ${this.#what}`,
      );
    }
    if (anchor !== undefined) this.#anchors.set(anchor, made);
    return made;
  }

  #made(node: ParsedNode, depth: number): YamlValue {
    if (this.#is.isMap(node)) return this.#object(node, depth);
    if (this.#is.isSeq(node)) return this.#list(node, depth);
    return plain(node as Scalar.Parsed);
  }

  #aliased(alias: Alias.Parsed): YamlValue {
    const value = this.#anchors.get(alias.source);
    if (value) return value;
    throw new YamlFault(
      alias,
      value === null ? 'The alias refers to a value that contains it' : 'No earlier anchor has this name',
    );
  }

  #list({ items }: YAMLSeq.Parsed, depth: number): YamlValue {
    const values = items.map(item => this.valueOf(item, depth + 1));
    return {
      value: values.map(({ value }) => value),
      jsonBytes: values.reduce((sum, { jsonBytes }) => sum + jsonBytes + 1, 2),
    };
  }

  #object({ items }: YAMLMap.Parsed, depth: number): YamlValue {
    const members = new Map<string, unknown>();
    let jsonBytes = 2;
    for (const { key, value } of items) {
      const name = String((key as Scalar.Parsed).value);
      if (!name.isWellFormed()) throw new YamlFault(key, HALF);
      if (members.has(name)) throw new YamlFault(key, REPEATED);
      const member = value ? this.valueOf(value, depth + 1) : NULL;
      members.set(name, member.value);
      jsonBytes += jsonBytesOf(name) + member.jsonBytes + 2;
    }
    return { value: Object.fromEntries(members), jsonBytes };
  }
}

const HALF = 'A string contains half a surrogate pair';

export const REPEATED = 'The key is a duplicate';

const NULL: YamlValue = { value: null, jsonBytes: 4 };

function plain(node: Scalar.Parsed): YamlValue {
  const { value } = node;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new YamlFault(node, 'The number is not finite');
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER && Math.abs(value) < 1e21) {
      throw new YamlFault(node, 'The integer is beyond 2^53−1 and would be rounded; quote it to make it a string');
    }
  } else if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new YamlFault(node, HALF);
  } else if (typeof value !== 'boolean' && value !== null) {
    throw new YamlFault(node, 'JSON cannot represent this value');
  }
  return { value, jsonBytes: jsonBytesOf(value) };
}

function jsonBytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
