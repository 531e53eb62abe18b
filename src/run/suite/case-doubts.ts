import { Fault } from '../../base/fault.ts';
import { isWithin } from '../../base/place.ts';
import { check } from '../../contracts/check.ts';
import { MIB } from '../../contracts/contract.ts';
import { kindOf } from '../../contracts/kind.ts';
import { OF_AGENT_RUNS, type SuiteCase, suiteCase, type SuiteTarget } from '../../contracts/suite/index.ts';
import type { WrittenWrong } from '../written/wrong.ts';
import { type CaseSource, isObject, placeInCases, type Written, type WrittenCase } from './case-source.ts';
import { expectationFaults } from './expectations.ts';

/** Doubts the cases of one file: what each says, and what they say of each other. */
export class CaseDoubts {
  readonly #name: string;
  readonly #lineOf: CaseSource['lineOf'];
  readonly #kind: SuiteTarget['kind'] | undefined;
  /** Which case has an id, in lower case. */
  readonly #ids = new Map<string, number>();
  readonly #told: WrittenWrong[] = [];
  #untold = 0;
  #written = 0;

  constructor(name: string, { lineOf }: CaseSource, kind?: SuiteTarget['kind']) {
    this.#name = name;
    this.#lineOf = lineOf;
    this.#kind = kind;
  }

  /** The case as it is sent; none from the first fault on. */
  resolved(written: Written): SuiteCase | undefined {
    // What cannot be read counts, too: a line of rubbish is remembered like any other.
    if (++this.#written > CASES_MAX) {
      const max = CASES_MAX.toLocaleString('en-US');
      throw new Fault('cases_invalid', `${this.#name} holds more than ${max} cases. Split it into several files.`);
    }
    if ('says' in written) {
      this.#tell(written.line, written.says);
      return undefined;
    }
    const one = resolve(written);
    const wrongs = one ? this.#wrongsOf(one, written) : [wrong('', `must be an object, is ${kindOf(written.value)}`)];
    if (wrongs.length > 0) this.#tellAll(written.index, wrongs);
    return this.#told.length === 0 ? (one as SuiteCase) : undefined;
  }

  /** Says everything that was found, if anything was. */
  settle(): void {
    if (this.#told.length > 0) {
      // In the order in which somebody would mend them.
      const told = this.#told.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)).map(shown);
      const rest = this.#untold > 0 ? [`and ${this.#untold.toLocaleString('en-US')} more`] : [];
      throw new Fault('cases_invalid', [`${this.#name} cannot be used as cases:`, ...told, ...rest].join('\n  '));
    }
    if (this.#written === 0) throw new Fault('cases_invalid', `${this.#name} holds no case.`);
  }

  #wrongsOf(one: Record<string, unknown>, { index, jsonBytesMost }: WrittenCase): readonly Wrong[] {
    const { violations, omitted } = check(suiteCase, one, { strict: true, internal: false });
    this.#untold += omitted;
    const wrongs = violations.map(({ path = '', message }) =>
      wrong(path, message.slice(path.length + 1).replace(/\.$/, '')),
    );
    const { expected } = one;
    if (isObject(expected)) {
      const isSound = (key: string): boolean => !wrongs.some(({ place }) => isWithin(place, `expected.${key}`));
      for (const { place, says } of expectationFaults(expected, isSound)) wrongs.push(wrong(place, says));
      if (this.#kind !== undefined && this.#kind !== 'agent') wrongs.push(...askedOfAgents(expected));
    }
    if (isTooLarge(one, jsonBytesMost)) wrongs.push(wrong('', TOO_LARGE));
    const { id } = one;
    if (typeof id === 'string' && !wrongs.some(({ place }) => place === 'id')) {
      const first = this.#firstWith(id, index);
      if (first !== undefined) wrongs.push({ place: 'id', says: '', first });
    }
    return wrongs;
  }

  /** Which case had the id before; this one has it from now on, if none did. */
  #firstWith(id: string, index: number): number | undefined {
    const key = id.toLowerCase();
    const first = this.#ids.get(key);
    if (first === undefined) this.#ids.set(key, index);
    return first;
  }

  /** Lines are looked up only for what is told: in a large file each takes its time. */
  #tellAll(index: number, wrongs: readonly Wrong[]): void {
    const told = wrongs.slice(0, TOLD_MAX - this.#told.length);
    this.#untold += wrongs.length - told.length;
    for (const { place, says, first } of told) {
      const words = first === undefined ? says : `is the id of line ${this.#lineOf(first, 'id')} again${CASE_ASIDE}`;
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

/** Something wrong in a case. */
interface Wrong {
  readonly place: string;
  readonly says: string;
  /** The case that has the same id already. */
  readonly first?: number;
}

/** Proctor does not see what other targets change or are denied. */
function askedOfAgents(expected: object): Wrong[] {
  return OF_AGENT_RUNS.filter(key => Object.hasOwn(expected, key)).map(key =>
    wrong(`expected.${key}`, "can be judged only of an agent's program (--agent claude or codex)"),
  );
}

function wrong(place: string, says: string): Wrong {
  return { place, says };
}

const CASES_MAX = 1_000_000;
const TOLD_MAX = 20;
const CASE_ASIDE = ' (upper and lower case are the same)';
const TOO_LARGE = `is larger than a case may be, ${suiteCase.bytesMax / MIB} MiB as JSON`;

/** What people may leave out is filled in. The value is not changed: a format with aliases may use it twice. */
function resolve({ value, suite }: WrittenCase): Record<string, unknown> | undefined {
  if (!isObject(value)) return undefined;
  const one: Record<string, unknown> = { schema_version: 'suite-case.v1', ...value };
  // An id without quotes is a number to JSON and a name to whoever wrote it.
  if (typeof one.id === 'number') one.id = String(one.id);
  if (one.input === undefined) one.input = { user: '' };
  if (one.suite === undefined && suite !== undefined) one.suite = suite;
  return one;
}

/** Whether the line that a run keeps of a case could not be read again. Most are known to be short without writing them. */
function isTooLarge(one: object, jsonBytesMost: number): boolean {
  return jsonBytesMost > suiteCase.bytesMax && Buffer.byteLength(JSON.stringify(one)) > suiteCase.bytesMax;
}
