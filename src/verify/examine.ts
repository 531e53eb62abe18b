import { type JsonDocument, readJson, tooLarge, tooManyValues, valuesMaxOf } from '../base/json.ts';
import { catalogue } from '../contracts/catalogue.ts';
import { type Contract, MIB } from '../contracts/contract.ts';
import { judge } from './document.ts';
import type { Options } from './options.ts';
import { formatOf, recognise } from './recognise.ts';
import { openInside, readWhole, type Source } from './source.ts';
import { refused, type Verdict } from './verdict.ts';

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
  /** It lies where the folder of a run has it. */
  readonly ofRun?: boolean;
  /** Reads the profile that may lie beside it. */
  readonly profile?: () => unknown;
  /** The file or folder that it is a part of. */
  readonly within?: string;
}

/**
 * Judges the bytes of one document: finds its contract, then asks all of its rules. Answers at once when the contract
 * is loaded, because a promise per record would cost a million records more than judging them.
 */
export function examine(bytes: Uint8Array, origin: Origin, options: Options): Examined | Promise<Examined> {
  const { input, fileName, within } = origin;
  const reading = readJson(bytes, { bytesMax: options.bytesMax ?? knownCap(options, fileName) ?? BYTES_MAX });
  if (!reading.ok) return { verdict: refused(input, reading.refusal.code, reading.refusal.message, within) };

  const { value } = reading;
  const recognised = options.as === undefined ? recognise(value, fileName) : { name: options.as };
  if ('code' in recognised) return { verdict: refused(input, recognised.code, recognised.message, within) };
  const contract = contracts.get(recognised.name);
  if (contract) return examineBy(contract, reading, bytes.length, origin, options);
  return load(recognised.name).then(contract => examineBy(contract, reading, bytes.length, origin, options));
}

function examineBy(
  contract: Contract,
  document: JsonDocument,
  bytes: number,
  { input, profile, within, ofRun = false }: Origin,
  { strict = false, internal = false, bytesMax }: Options,
): Examined {
  if (bytesMax === undefined && bytes > contract.bytesMax) {
    return { verdict: refused(input, 'too_large', tooLarge(contract.bytesMax), within) };
  }
  if (bytesMax === undefined && document.values > valuesMaxOf(contract.bytesMax)) {
    return { verdict: refused(input, 'too_many_values', tooManyValues(contract.bytesMax), within) };
  }
  const profileBeside = contract.namesProfile ? profile?.() : undefined;
  const judgement = judge(contract, document, { strict, internal, profileBeside, ofRun });
  const verdict: Verdict = {
    input,
    outcome: judgement.valid ? 'valid' : 'invalid',
    contract: contract.name,
    violations: judgement.violations,
    advice: judgement.advice,
    omitted: judgement.omitted,
    hash: judgement.hash,
    environment_hash: judgement.environment_hash,
    within,
    not_checked: contract.beyond ?? NOTHING,
  };
  return { verdict, contract, value: document.value };
}

const NOTHING: readonly string[] = [];

/** The profile that lies in a folder. One that cannot be read binds nothing. */
export function readProfile(folder: string): unknown {
  return profileIn(readWhole(openInside(folder, 'policy.json'), MIB));
}

export function profileIn(source: Source): unknown {
  const reading = source.ok ? readJson(source.bytes, { bytesMax: MIB }) : undefined;
  return reading?.ok ? reading.value : undefined;
}

/** How many bytes may be read of a document, as far as can be said before it is: by its format, if that is known already. */
export async function capOf(options: Options, fileName?: string): Promise<number> {
  const name = nameBefore(options, fileName);
  if (options.bytesMax !== undefined || name === undefined) return options.bytesMax ?? BYTES_MAX;
  return knownCap(options, fileName) ?? (await load(name)).bytesMax;
}

/** The same, of a contract that is loaded. */
function knownCap(options: Options, fileName?: string): number | undefined {
  return contracts.get(nameBefore(options, fileName) ?? '')?.bytesMax;
}

/** The format of a document that was not read yet. */
function nameBefore({ as }: Options, fileName?: string): string | undefined {
  return as ?? (fileName === undefined ? undefined : formatOf(fileName));
}

/** The cap of a document before it is known what it is. */
export const BYTES_MAX = 16 * MIB;

const contracts = new Map<string, Contract>();

async function load(name: string): Promise<Contract> {
  const entry = Object.hasOwn(catalogue, name) ? catalogue[name] : undefined;
  if (!entry) throw new RangeError('There is no format of that name.');
  const contract = await entry.load();
  contracts.set(name, contract);
  return contract;
}
