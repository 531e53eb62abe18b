import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { isWithin } from '../../base/place.ts';
import { check } from '../../contracts/check.ts';
import { nameOfCheck } from '../../contracts/checks/shape.ts';
import { MIB } from '../../contracts/contract.ts';
import { isObject, kindOf } from '../../contracts/kind.ts';
import {
  CODING_KEYS,
  type CodingKeys,
  OF_AGENT_RUNS,
  type SuiteCase,
  suiteCase,
  type SuiteTarget,
} from '../../contracts/suite/index.ts';
import type { WrittenWrong } from '../written/wrong.ts';
import { type CaseSource, placeInCases, type Written, type WrittenCase } from './case-source.ts';
import { expectationFaults } from './expectations.ts';

/** The target of the cases in a file. */
export interface AskedTarget {
  readonly kind: SuiteTarget['kind'];
  /** The names of the checks of every case. */
  readonly checks?: readonly string[];
}

/** Validates the cases of one file, each case alone and against the others. */
export class CaseFindings {
  readonly #name: string;
  readonly #lineOf: CaseSource['lineOf'];
  readonly #asked: AskedTarget | undefined;
  #isDefaultRefused = false;
  /** Case index by id in lower case. */
  readonly #ids = new Map<string, number>();
  readonly #told: WrittenWrong[] = [];
  #untold = 0;
  #written = 0;

  constructor(name: string, { lineOf }: CaseSource, asked?: AskedTarget) {
    this.#name = name;
    this.#lineOf = lineOf;
    this.#asked = asked;
  }

  /** Returns the case in the form that is sent, or undefined once any fault was found. */
  resolved(written: Written): SuiteCase | undefined {
    // Unreadable cases count too, because each occupies memory.
    if (++this.#written > CASES_MAX) {
      const max = CASES_MAX.toLocaleString('en-US');
      throw new Fault('cases_invalid', `${this.#name} contains more than ${max} cases. Split it into several files.`);
    }
    if ('says' in written) {
      this.#tell(written.line, written.says);
      return undefined;
    }
    this.#refuseDefaults(written);
    const one = resolve(written);
    const wrongs = one
      ? this.#wrongsOf(one, written)
      : [wrong('', `must be an object, but is ${kindOf(written.value)}`)];
    if (wrongs.length > 0) this.#tellAll(written.index, wrongs);
    return this.#told.length === 0 ? (one as SuiteCase) : undefined;
  }

  /** Throws a fault that lists everything that was found. */
  settle(): void {
    if (this.#told.length > 0) {
      const told = this.#told.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)).map(shown);
      const rest = this.#untold > 0 ? [`and ${this.#untold.toLocaleString('en-US')} more`] : [];
      throw new Fault('cases_invalid', [`${this.#name} is not a valid case file:`, ...told, ...rest].join('\n  '));
    }
    if (this.#written === 0) throw new Fault('cases_invalid', `${this.#name} contains no cases.`);
  }

  /** Reports defaults that require an agent once for the file, not for every case. */
  #refuseDefaults({ defaults }: WrittenCase): void {
    if (!defaults || this.#isDefaultRefused || !isOther(this.#asked)) return;
    this.#isDefaultRefused = true;
    for (const key of Object.keys(defaults.keys)) this.#tell(defaults.lineOf(key), `${key} ${NEEDS_AGENT}`);
  }

  #wrongsOf(one: Record<string, unknown>, { index, value, defaults, jsonBytesMost }: WrittenCase): readonly Wrong[] {
    const { violations, omitted } = check(suiteCase, one, { strict: true, internal: false });
    this.#untold += omitted;
    const joined = defaults?.keys.checks?.length ?? 0;
    const wrongs = violations.map(({ path = '', message }) =>
      wrong(asWritten(path, joined), message.slice(path.length + 1).replace(/\.$/, '')),
    );
    if (isOther(this.#asked)) wrongs.push(...keysOfAgents(value as object));
    else wrongs.push(...this.#checksAsked(one, wrongs));
    const { expected } = one;
    if (isObject(expected)) {
      const isSound = (key: string): boolean => !wrongs.some(({ place }) => isWithin(place, `expected.${key}`));
      for (const { place, says } of expectationFaults(expected, isSound)) wrongs.push(wrong(place, says));
      if (isOther(this.#asked)) wrongs.push(...askedOfAgents(expected));
    }
    if (isTooLarge(one, jsonBytesMost)) wrongs.push(wrong('', TOO_LARGE));
    const { id } = one;
    if (typeof id === 'string' && !wrongs.some(({ place }) => place === 'id')) {
      const first = this.#firstWith(id, index);
      if (first !== undefined) wrongs.push({ place: 'id', says: '', first });
    }
    return wrongs;
  }

  /** Finds expectations about checks that the case does not have. */
  #checksAsked(one: Record<string, unknown>, wrongs: readonly Wrong[]): Wrong[] {
    if (!this.#asked || wrongs.some(({ place }) => isWithin(place, 'expected') || isWithin(place, 'checks'))) return [];
    const { expected = {}, checks = [] } = one as SuiteCase;
    const names = [...checks.map(nameOfCheck), ...(this.#asked.checks ?? [])];
    const asked = expected.check === undefined ? [] : [expected.check].flat();
    return [
      ...asked.flatMap((name, index) => {
        const at = Array.isArray(expected.check) ? `expected.check[${index}]` : 'expected.check';
        return names.includes(name)
          ? []
          : [wrong(at, `names a check that this case does not have.${didYouMean(name, names)}`)];
      }),
      ...(expected.tests && names.length === 0 ? [wrong('expected.tests', 'requires checks that report tests')] : []),
    ];
  }

  /** Registers the id. Returns the index of an earlier case with the same id. */
  #firstWith(id: string, index: number): number | undefined {
    const key = id.toLowerCase();
    const first = this.#ids.get(key);
    if (first === undefined) this.#ids.set(key, index);
    return first;
  }

  /** Looks up lines only for listed faults, because a lookup scans the file. */
  #tellAll(index: number, wrongs: readonly Wrong[]): void {
    const told = wrongs.slice(0, TOLD_MAX - this.#told.length);
    this.#untold += wrongs.length - told.length;
    for (const { place, says, first } of told) {
      const words =
        first === undefined ? says : `repeats the id on line ${this.#lineOf(first, 'id')} (ids are case-insensitive)`;
      this.#tell(this.#lineOf(index, place), `${placeInCases(index, place)} ${words}`);
    }
  }

  #tell(line: number | undefined, says: string): void {
    if (this.#told.length >= TOLD_MAX) this.#untold++;
    else this.#told.push({ line, says });
  }
}

function shown({ line, says }: WrittenWrong): string {
  return line === undefined ? says : `line ${line}: ${says}`;
}

interface Wrong {
  readonly place: string;
  readonly says: string;
  /** An earlier case with the same id. */
  readonly first?: number;
}

function isOther(asked: AskedTarget | undefined): boolean {
  return asked !== undefined && asked.kind !== 'agent';
}

/** Other targets do not work in a folder, so they cannot use these keys. */
function keysOfAgents(value: object): Wrong[] {
  return CODING_KEYS.filter(key => Object.hasOwn(value, key)).map(key => wrong(key, NEEDS_AGENT));
}

const NEEDS_AGENT = 'requires an agent as the target (--agent claude or --agent codex)';

/** The checks of the file precede those of the case, so positions in the joined list differ from those in the file. */
function asWritten(place: string, joined: number): string {
  const index = Number(/^checks\[(\d+)\]/.exec(place)?.[1] ?? Number.NaN);
  return index >= joined ? place.replace(/\d+/, String(index - joined)) : place;
}

/** Proctor cannot observe what other targets change or are denied. */
function askedOfAgents(expected: object): Wrong[] {
  return OF_AGENT_RUNS.filter(key => Object.hasOwn(expected, key)).map(key => wrong(`expected.${key}`, NEEDS_AGENT));
}

function wrong(place: string, says: string): Wrong {
  return { place, says };
}

const CASES_MAX = 1_000_000;
const TOLD_MAX = 20;
const TOO_LARGE = `is larger than ${suiteCase.bytesMax / MIB} MiB as JSON, the limit for a case`;

/** Fills in defaults. Does not modify the value, because YAML aliases can share it. */
function resolve({ value, suite, defaults }: WrittenCase): Record<string, unknown> | undefined {
  if (!isObject(value)) return undefined;
  const one: Record<string, unknown> = { schema_version: 'suite-case.v1', ...inherited(value, defaults), ...value };
  if (defaults?.keys.checks && Array.isArray(value.checks)) one.checks = [...defaults.keys.checks, ...value.checks];
  // In JSON, an unquoted numeric id is a number.
  if (typeof one.id === 'number') one.id = String(one.id);
  if (one.input === undefined) one.input = { user: '' };
  if (one.suite === undefined && suite !== undefined) one.suite = suite;
  return one;
}

/** A ref belongs to the folder or repository beside it, so a case that names its own inherits none of the three. */
function inherited(value: Record<string, unknown>, defaults: WrittenCase['defaults']): CodingKeys {
  if (!defaults) return {};
  const { dir: _, repository: __, ref: ___, ...rest } = defaults.keys;
  return value.dir === undefined && value.repository === undefined ? defaults.keys : rest;
}

/** Tests whether a case's stored line would exceed the read limit. The estimate avoids serializing most cases. */
function isTooLarge(one: object, jsonBytesMost: number): boolean {
  return jsonBytesMost > suiteCase.bytesMax && Buffer.byteLength(JSON.stringify(one)) > suiteCase.bytesMax;
}
