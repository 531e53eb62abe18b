import { type JsonDocument, readJson, tooLarge, tooManyValues, valuesMaxOf } from '../base/json.ts';
import { catalogue } from '../contracts/catalogue.ts';
import { type Contract, MIB } from '../contracts/contract.ts';
import { judge } from './document.ts';
import type { Options } from './options.ts';
import { formatOf, recognise } from './recognise.ts';
import { openInside, readWhole, type DocumentSource } from './source.ts';
import { refused, type Verdict } from './verdict.ts';

/** A judged document, with the value that rules across documents need. */
export interface Examined {
  readonly verdict: Verdict;
  readonly contract?: Contract;
  readonly value?: unknown;
}

export interface Origin {
  /** The name in the verdict. */
  readonly input: string;
  /** May determine the format. */
  readonly fileName?: string;
  /** The document is a run's evidence/runner.json. */
  readonly ofRun?: boolean;
  /** Reads policy.json from the same folder. */
  readonly profile?: () => unknown;
  /** The file or folder that contains the document. */
  readonly within?: string;
}

/**
 * Finds the contract of a document and checks its rules. Returns synchronously if the contract is loaded, because for a
 * million records the promises would take longer than the checks.
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

/** Reads a folder's policy.json. An unreadable profile imposes no limits. */
export function readProfile(folder: string): unknown {
  return profileIn(readWhole(openInside(folder, 'policy.json'), MIB));
}

export function profileIn(source: DocumentSource): unknown {
  const reading = source.ok ? readJson(source.bytes, { bytesMax: MIB }) : undefined;
  return reading?.ok ? reading.value : undefined;
}

/** How many bytes of a document to read. Depends on the format if it is known in advance. */
export async function capOf(options: Options, fileName?: string): Promise<number> {
  const name = nameBefore(options, fileName);
  if (options.bytesMax !== undefined || name === undefined) return options.bytesMax ?? BYTES_MAX;
  return knownCap(options, fileName) ?? (await load(name)).bytesMax;
}

/** The same for a contract that is already loaded. */
function knownCap(options: Options, fileName?: string): number | undefined {
  return contracts.get(nameBefore(options, fileName) ?? '')?.bytesMax;
}

/** The format of a document that has not been read yet. */
function nameBefore({ as }: Options, fileName?: string): string | undefined {
  return as ?? (fileName === undefined ? undefined : formatOf(fileName));
}

/** The size limit for a document of unknown format. */
export const BYTES_MAX = 16 * MIB;

const contracts = new Map<string, Contract>();

async function load(name: string): Promise<Contract> {
  const entry = Object.hasOwn(catalogue, name) ? catalogue[name] : undefined;
  if (!entry) throw new RangeError('There is no format with this name.');
  const contract = await entry.load();
  contracts.set(name, contract);
  return contract;
}
