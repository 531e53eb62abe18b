import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { printable } from '../../base/printable.ts';
import { durationMs } from '../../base/units.ts';
import type { GateLimits } from '../../contracts/gate/limits/index.ts';
import type { Project, ProjectGate, ProjectSuite, ProjectTarget } from '../../contracts/project/index.ts';
import type { ProjectFile } from '../../run/project/project-file.ts';
import { AGENT_CLOCKS, DEFAULT_SETTINGS } from '../../run/suite/settings.ts';
import type { Format } from '../formats.ts';
import type { GateSettings } from '../gate-settings.ts';

/** What overrides the project file. */
export interface TestOverrides extends Pick<GateSettings, 'mode' | 'limits' | 'allowRemoved' | 'allowWeakened'> {
  readonly only?: readonly string[];
  readonly repeat?: number;
  readonly concurrency?: number;
  readonly retries?: number;
  readonly timeoutMs?: number;
  readonly idleMs?: number;
  readonly strictReplies?: boolean;
  /** A gate file. It replaces the gate of the project. */
  readonly gate?: string;
  readonly formats?: readonly Format[];
}

/** An effective value, and where it comes from: `default`, `proctor.yaml:12` or a flag. */
export interface DecidedSetting {
  readonly key: string;
  readonly value: unknown;
  readonly from: string;
}

/** A suite of the project with every value decided. */
export interface SuiteTest {
  readonly name: string;
  readonly cases: string;
  readonly target: string;
  /** The target of the other side, if the suite runs both. */
  readonly baselineTarget: string | undefined;
  readonly options: {
    readonly only?: readonly string[];
    readonly repeat: number;
    readonly concurrency?: number;
    readonly retries?: number;
    readonly timeoutMs?: number;
    readonly idleMs?: number;
    readonly strictReplies?: boolean;
  };
  readonly gate: GateSettings;
  readonly secrets: readonly string[];
  /** The accepted baseline, relative to the project. */
  readonly baseline: string;
  readonly formats: readonly Format[];
  readonly settings: readonly DecidedSetting[];
}

/** The suites to test: those named, or all. */
export function suitesOf(file: ProjectFile, names: readonly string[], over: TestOverrides): SuiteTest[] {
  const known = Object.keys(file.project.suites);
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new Fault(
      'no_suite',
      `${printable(file.name)} has no suite "${printable(name)}".${didYouMean(name, known)} Suites: ${known.join(', ')}.`,
    );
  }
  return known
    .filter(name => names.length === 0 || names.includes(name))
    .map(name => new Decider(file, name, over).decide());
}

/** Decides the values of one suite, and keeps where each came from. */
class Decider {
  readonly #settings: DecidedSetting[] = [];
  readonly #file: ProjectFile;
  readonly #name: string;
  readonly #over: TestOverrides;
  readonly #project: Project;
  readonly #suite: ProjectSuite;

  constructor(file: ProjectFile, name: string, over: TestOverrides) {
    this.#file = file;
    this.#name = name;
    this.#over = over;
    this.#project = file.project;
    this.#suite = file.project.suites[name] as ProjectSuite;
  }

  decide(): SuiteTest {
    const [over, name] = [this.#over, this.#name];
    const { cases, target, sides } = this.#suite;
    this.#note('cases', cases, this.#at('cases'));
    const candidate = (sides?.new ?? target) as string;
    if (sides) this.#note('sides', `${sides.baseline} and ${sides.new}`, this.#at('sides'));
    else this.#note('target', candidate, this.#at('target'));
    const ofTarget = this.#project.targets[candidate] as ProjectTarget;
    const clocks = ofTarget.kind === 'agent' ? { ...DEFAULT_SETTINGS, ...AGENT_CLOCKS } : DEFAULT_SETTINGS;
    const only = this.#pick('only', over.only, undefined);
    const repeat = this.#pick('repeat', over.repeat, 1) as number;
    const concurrency = this.#pick('concurrency', over.concurrency, clocks.concurrency, candidate);
    const retries = this.#pick('retries', over.retries, clocks.retries, candidate);
    const timeoutMs = this.#pick('timeout', over.timeoutMs, clocks.timeoutMs, candidate);
    const idleMs = this.#pick('idle_timeout', over.idleMs, undefined, candidate);
    const strictReplies = this.#pick('strict_replies', over.strictReplies, undefined);
    const secrets = this.#pick('secrets', undefined, []) ?? [];
    const gate = this.#gate();
    const folder = this.#project.baselines ?? BASELINES;
    const baseline = path.join(folder, `${name}.json`);
    if (!sides)
      this.#note('baseline', baseline, this.#project.baselines === undefined ? 'default' : this.#line('baselines'));
    const formats = over.formats ?? this.#project.reports ?? ['html'];
    this.#note(
      'reports',
      formats.join(', '),
      over.formats ? '--report' : this.#project.reports ? this.#line('reports') : 'default',
    );
    return {
      name,
      cases,
      target: candidate,
      baselineTarget: sides?.baseline,
      options: { repeat, ...defined({ only, concurrency, retries, timeoutMs, idleMs, strictReplies }) },
      gate,
      secrets,
      baseline,
      formats,
      settings: this.#settings,
    };
  }

  /** A value of the flags, the suite, the top of the file or the target. Undefined stands for its default. */
  #pick<Key extends keyof Picked>(
    key: Key,
    flag: Picked[Key] | undefined,
    byDefault: Picked[Key] | undefined,
    target?: string,
  ): Picked[Key] | undefined {
    const ms = (value: unknown): Picked[Key] => (TIMES.has(key) ? durationMs(value as string) : value) as Picked[Key];
    const note = (value: Picked[Key], from: string) => {
      this.#note(key, TIMES.has(key) ? `${Number(value) / 1000}s` : value, from);
      return value;
    };
    if (flag !== undefined) return note(flag, `--${key.replaceAll('_', '-')}`);
    const ofSuite = (this.#suite as Partial<Record<string, unknown>>)[key];
    if (ofSuite !== undefined) return note(ms(ofSuite), this.#at(key));
    const ofProject = (this.#project as Partial<Record<string, unknown>>)[key];
    if (ofProject !== undefined) return note(ms(ofProject), this.#line(key));
    const ofTarget = target && (this.#project.targets[target] as Partial<Record<string, unknown>>)[key];
    if (target !== undefined && ofTarget !== undefined) {
      // The run reads it from the target itself.
      note(ms(ofTarget), this.#line(`targets.${target}.${key}`));
      return undefined;
    }
    if (byDefault !== undefined) note(byDefault, 'default');
    return key === 'repeat' ? byDefault : undefined;
  }

  /** The gate: the flags, then the keys of the suite, then the top-level ones. A gate file is taken as a whole. */
  #gate(): GateSettings {
    const { gate: file, mode, limits, allowRemoved, allowWeakened } = this.#over;
    const flags = defined({ mode, limits, allowRemoved, allowWeakened });
    if (allowRemoved) this.#note('gate.allow_removed', true, '--allow-removed');
    if (allowWeakened) this.#note('gate.allow_weakened', true, '--allow-weakened');
    for (const [key, value] of Object.entries(limits ?? {}) as [keyof GateLimits, number][])
      this.#note(`gate.limits.${key}`, value, `--${key.replaceAll('_', '-')}`);
    if (mode !== undefined) this.#note('gate.mode', mode, '--gate');
    if (file !== undefined) {
      this.#note('gate', file, '--gate');
      return { ...flags, gate: path.resolve(file) };
    }
    const ofSuite = this.#suite.gate;
    const ofProject = this.#project.gate;
    const [whole, at] = typeof ofSuite === 'string' ? [ofSuite, this.#at('gate')] : [ofProject, this.#line('gate')];
    if (typeof whole === 'string' && (typeof ofSuite === 'string' || ofSuite === undefined)) {
      this.#note('gate', whole, at);
      return { ...flags, gate: path.join(this.#file.dir, whole) };
    }
    const [above, below] = [ofProject, ofSuite].map(gate => (typeof gate === 'object' ? gate : {})) as [
      ProjectGate,
      ProjectGate,
    ];
    const gate = overridden(above, below);
    const ownPlaces = new Set([...leavesOf('gate', below)].map(([place]) => place));
    for (const [place, leaf] of leavesOf('gate', gate)) {
      if (this.#settings.some(({ key }) => key === place)) continue;
      this.#note(place, leaf, ownPlaces.has(place) ? this.#at(place) : this.#line(place));
    }
    if (gate.mode === undefined && mode === undefined) this.#note('gate.mode', 'balanced', 'default');
    return Object.keys(gate).length > 0 ? { ...flags, gate } : flags;
  }

  #note(key: string, value: unknown, from: string): void {
    this.#settings.push({ key, value, from });
  }

  #at(key: string): string {
    return this.#line(`suites.${this.#name}.${key}`);
  }

  #line(place: string): string {
    return `${printable(this.#file.name)}:${this.#file.lineOf(place)}`;
  }
}

interface Picked {
  readonly only: readonly string[];
  readonly repeat: number;
  readonly concurrency: number;
  readonly retries: number;
  readonly timeout: number;
  readonly idle_timeout: number;
  readonly strict_replies: boolean;
  readonly secrets: readonly string[];
}

const TIMES: ReadonlySet<string> = new Set(['timeout', 'idle_timeout']);
/** The default folder of accepted baselines. */
export const BASELINES = 'proctor/baselines';

/** The keys of the suite override the top-level ones. A suite that adds a limit keeps the other limits. */
function overridden(above: ProjectGate, below: ProjectGate): ProjectGate {
  const { limits, tolerances, again } = below;
  return {
    ...above,
    ...below,
    ...defined({
      limits: limits && { ...above.limits, ...limits },
      tolerances: tolerances && { ...above.tolerances, ...tolerances },
      again: again && { ...above.again, ...again },
      per_suite: groupsOver(above.per_suite, below.per_suite),
      per_tag: groupsOver(above.per_tag, below.per_tag),
      per_severity: groupsOver(above.per_severity, below.per_severity),
    }),
  };
}

function groupsOver(above: Groups | undefined, below: Groups | undefined): Groups | undefined {
  if (!above || !below) return below ?? above;
  const changed = Object.entries(below).map(([name, limits]) => [name, { ...above[name], ...limits }]);
  return { ...above, ...(Object.fromEntries(changed) as Groups) };
}

type Groups = NonNullable<ProjectGate['per_tag']>;

function* leavesOf(place: string, value: unknown): Generator<[string, unknown]> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) yield [place, value];
  else for (const [key, member] of Object.entries(value)) yield* leavesOf(`${place}.${key}`, member);
}
