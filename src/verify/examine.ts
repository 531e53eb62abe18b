import path from 'node:path';
import { readJson, tooLarge } from '../base/json.ts';
import { catalogue } from '../contracts/catalogue.ts';
import { type Contract, MIB } from '../contracts/contract.ts';
import { judge } from './document.ts';
import { recognise } from './recognise.ts';
import { readWhole } from './source.ts';
import { refused, type Verdict } from './verdict.ts';

export interface Options {
  /** The name of the contract to judge by, whatever the document says of itself. */
  readonly as?: string;
  /** Unknown keys and bytes that are not canonical are violations, not advice. */
  readonly strict?: boolean;
  /** Fields for internal use are allowed. */
  readonly internal?: boolean;
  /** Replaces the size cap of every contract. */
  readonly bytesMax?: number;
  /** Files and standard input hold a record per line, whatever their name. */
  readonly ndjson?: boolean;
}

/** A document that was judged, with what the rules across documents need of it. */
export interface Examined {
  readonly verdict: Verdict;
  readonly contract?: Contract;
  readonly value?: unknown;
}

/** Where a document comes from. */
export interface Origin {
  /** What the verdict calls it. */
  readonly input: string;
  /** Its file name, by which it may be known. */
  readonly fileName?: string;
  /** The folder it lies in, where a profile may lie beside it. */
  readonly folder?: string;
}

/** Judges the bytes of one document: finds its contract, then asks all of its rules. */
export async function examine(bytes: Uint8Array, origin: Origin, options: Options): Promise<Examined> {
  const { input } = origin;
  const cap = options.bytesMax ?? BYTES_MAX;
  const reading = readJson(bytes, { bytesMax: cap });
  if (!reading.ok) return { verdict: refused(input, reading.refusal.code, reading.refusal.message) };
  const { value } = reading;

  const recognised = options.as === undefined ? recognise(value, origin.fileName) : { name: options.as };
  if ('code' in recognised) return { verdict: refused(input, recognised.code, recognised.message) };
  const contract = contracts.get(recognised.name) ?? (await load(recognised.name));
  if (options.bytesMax === undefined && bytes.length > contract.bytesMax) {
    return { verdict: refused(input, 'too_large', tooLarge(contract.bytesMax)) };
  }
  const profileBeside = contract.namesProfile && origin.folder !== undefined ? profileIn(origin.folder) : undefined;
  const { valid, ...judgement } = judge(contract, value, bytes, {
    strict: options.strict ?? false,
    internal: options.internal ?? false,
    ...(profileBeside === undefined ? {} : { profileBeside }),
  });
  const verdict: Verdict = {
    input,
    outcome: valid ? 'valid' : 'invalid',
    contract: contract.name,
    ...judgement,
    not_checked: contract.beyond ?? [],
  };
  return { verdict, contract, value };
}

/** The profile that lies in a folder. One that cannot be read binds nothing. */
function profileIn(folder: string): unknown {
  const source = readWhole(path.join(folder, 'policy.json'), BYTES_MAX);
  if (!source.ok) return undefined;
  const reading = readJson(source.bytes, { bytesMax: BYTES_MAX });
  return reading.ok ? reading.value : undefined;
}

/** The cap of a document before it is known what it is. */
export const BYTES_MAX = 16 * MIB;

const contracts = new Map<string, Contract>();

async function load(name: string): Promise<Contract> {
  const entry = catalogue[name];
  if (!entry) throw new RangeError(`There is no contract of that name.`);
  const contract = await entry.load();
  contracts.set(name, contract);
  return contract;
}
