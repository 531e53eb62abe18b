import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newRunId } from '../base/ids.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import type { Signer } from '../contracts/seal/index.ts';
import { repetitionId, type SuiteTarget } from '../contracts/suite/index.ts';
import type { RunPlace } from '../evidence/runs.ts';
import type { SuitePlan } from '../evidence/suite-run.ts';
import type { Requested } from '../policy/bounds.ts';
import type { SuiteOrder } from '../run/suite/plan.ts';
import type { SuiteSettings } from '../run/suite/settings.ts';
import type { SuiteAnswer, SuiteAround } from '../run/suite/suite.ts';
import { signerAt } from './keys.ts';
import { ledgerOf, refuseTaken } from './ledger.ts';
import { removeUnbegunSuite } from './recover.ts';
import { checkSuiteOptions } from './suite-options.ts';
import { checkedRunId, checkedSettings, checkedUrl, checkHeader, inFolder } from './suite-words.ts';

/** What to ask whom, and within which bounds. What is not said takes its default. */
export interface RunSuiteOptions extends Partial<SuiteSettings> {
  /** The file of the cases: .json, .jsonl, .yaml or .csv. */
  readonly cases: string;
  readonly as: 'baseline' | 'new';
  /** Where the agent is: cases go to `run-case` below it. */
  readonly baseUrl?: string;
  /** A script that answers in the place of an agent, in a sandbox. */
  readonly script?: string;
  readonly bounds?: Omit<Requested, 'profile' | 'timeoutMs' | 'idleMs'> & { readonly profile?: string | Profile };
  /** The folder of the artifacts, `baseline/` and `new/` below it; else `.proctor/runs`. */
  readonly out?: string;
  readonly runId?: string;
  /** The ids of the cases to run. */
  readonly only?: readonly string[];
  readonly repeat?: number;
  /** Headers of every request. Their values are masked wherever they would be stored. */
  readonly headers?: readonly Header[];
  /** More values to mask, by the names of their variables; a script sees them, too. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Redirects within the same origin are followed. */
  readonly redirects?: boolean;
  readonly cwd?: string;
  /** The file of the key that seals are signed with; else that of `.proctor`, if it has one. */
  readonly signingKey?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: SuiteAround['onProgress'];
  readonly onFolder?: (place: RunPlace) => void;
  /** Something went wrong that does not touch the runs. */
  readonly onWarning?: (sentence: string) => void;
  readonly backoffMs?: number;
  readonly breakerPausesMs?: readonly number[];
}

export interface Header {
  readonly name: string;
  /** The variable that its value came from. */
  readonly env: string;
  readonly value: string;
}

/** How the run of a suite ended: one entry per repetition. */
export interface SuiteRunResult {
  readonly kind: 'suite';
  readonly version: 'baseline' | 'new';
  readonly runs: readonly JudgedAnswer[];
  /** The key that the seals were signed with, or null. */
  readonly keyId: string | null;
}

/** A run, and how many of its cases passed; of one that is open nobody knows yet. */
interface JudgedAnswer extends SuiteAnswer {
  readonly judged: Evaluation['summary'] | undefined;
  /** The ids of the first cases that did not pass, at most ten. */
  readonly notPassed: readonly string[];
}

const NAMED_MAX = 10;

/** Sends every case of a suite to an agent or a script, and leaves artifacts that anyone can verify. */
export async function runSuite(options: RunSuiteOptions): Promise<SuiteRunResult> {
  checkSuiteOptions(options);
  const { cwd = process.cwd(), repeat = 1 } = options;
  const { homeFrom, makeHome } = await import('../evidence/runs.ts');
  const { layOutSuite, placeFor } = await import('../run/suite/suite.ts');
  const { copyLayout, layOutCases } = await import('../run/suite/layout.ts');
  const { suitePlan } = await import('../run/suite/plan.ts');
  const home = homeFrom(cwd);
  const signer = await signerAt(cwd, options.signingKey);
  const order = await orderOf(options, home, cwd);
  const out = options.out === undefined ? path.join(home, 'runs') : path.resolve(cwd, options.out);
  const numbers = Array.from({ length: repeat }, (_, index) => index + 1);
  const ids = numbers.map(number => repetitionId(order.group, number));
  for (const id of ids) await removeUnbegunSuite(path.join(out, options.as, id));
  const places = ids.map(id => placeFor(out, options.as, id));
  if (options.runId !== undefined && options.out === undefined) await refuseTaken(home, ids);
  makeHome(home);
  let first: ReturnType<typeof layOutCases> | undefined;
  for (const [index, place] of places.entries()) {
    const write = (folder: string) => {
      first = first
        ? copyLayout((places[0] as RunPlace).folder, first, folder)
        : layOutCases(path.resolve(cwd, options.cases), order.only, folder);
      return first;
    };
    layOutSuite({ place, write, planOf: cases => suitePlan(order, index + 1, cases) });
  }
  return runAll(places, { ...options, home, signer });
}

type Going = Pick<
  RunSuiteOptions,
  | 'headers'
  | 'secrets'
  | 'bounds'
  | 'signal'
  | 'onProgress'
  | 'onFolder'
  | 'onWarning'
  | 'backoffMs'
  | 'breakerPausesMs'
> & { readonly home: string; readonly signer: Signer | undefined };

/** Runs what was laid out, one repetition after the other, and judges each. */
export async function runAll(places: readonly RunPlace[], going: Going): Promise<SuiteRunResult> {
  const { runSuite: run } = await import('../run/suite/suite.ts');
  const { suitePlanIn } = await import('../evidence/suite-resume.ts');
  const { RUN_ID } = await import('../evidence/runs.ts');
  const { evaluationIn } = await import('./sides.ts');
  const runs: JudgedAnswer[] = [];
  const signal = going.signal ?? new AbortController().signal;
  for (const place of places) {
    // Of a name that a person gave, another run may stand anywhere in it.
    const ledger = ledgerOf(going.home, going.onWarning, RUN_ID.test(place.id) ? 'its end' : 'all of it');
    const plan = suitePlanIn(place.folder);
    if (!plan) throw new Fault('not_a_suite', 'The journal in the folder is not that of a suite that had begun.');
    going.onFolder?.(place);
    const answer = await alone(place, async () =>
      run(place, await targetFor(plan, going), {
        signal,
        signer: going.signer,
        ledger,
        ...(going.onProgress && { onProgress: going.onProgress }),
        ...(going.backoffMs !== undefined && { backoffMs: going.backoffMs }),
        ...(going.breakerPausesMs && { breakerPausesMs: going.breakerPausesMs }),
      }),
    );
    const judge = { home: going.home, signal };
    const evaluation = answer.isOpen ? undefined : await evaluationIn(place.folder, judge);
    const notPassed = (evaluation?.cases ?? []).filter(({ verdict }) => verdict !== 'pass').slice(0, NAMED_MAX);
    runs.push({ ...answer, judged: evaluation?.summary, notPassed: notPassed.map(({ case_id }) => case_id) });
    if (answer.isOpen || signal.aborted) break;
  }
  const version = runs[0]?.plan.request.version;
  if (version === undefined) throw new Fault('finished', 'The run is finished: there is nothing to resume.');
  return { kind: 'suite', version, runs, keyId: going.signer?.keyId ?? null };
}

/** Two that go on with the same run would ask every case twice, and write over each other. */
async function alone<Answer>({ id, folder }: RunPlace, act: () => Promise<Answer>): Promise<Answer> {
  const [{ holdName }, { bytesHash }] = await Promise.all([import('../execute/slots.ts'), import('../base/hash.ts')]);
  const lock = await holdName(`suite-${bytesHash(realpathSync(folder)).slice(-16)}`);
  if (!lock) throw new Fault('alive', `${id} is still running.`);
  try {
    return await act();
  } finally {
    lock.close();
  }
}

async function targetFor({ request, script, bounds }: SuitePlan, { headers = [], secrets = {}, home, signer }: Going) {
  const { settingsFrom } = await import('../run/suite/settings.ts');
  const { run_id: runId, version: side, target } = request;
  const settings = settingsFrom(request.settings);
  if (target.kind === 'http') {
    const { httpTarget } = await import('../run/suite/http-target.ts');
    for (const header of headers) checkHeader(header);
    return httpTarget({
      url: target.url,
      side,
      runId,
      headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
      secrets: [...headers.map(({ value }) => value), ...Object.values(secrets)],
      redirects: target.redirects,
      settings,
    });
  }
  const [{ scriptTarget }, { sharedLauncher }] = await Promise.all([
    import('../run/suite/script-target.ts'),
    import('./run-script.ts'),
  ]);
  const sha256 = script === null ? undefined : await hashOf(script);
  if (script === null || sha256 !== target.sha256) {
    throw new Fault('script_changed', 'The script is not the one that the run began with.');
  }
  const { attemptsIn } = await import('../evidence/runs.ts');
  const kept = attemptsIn(home);
  return scriptTarget({ script, side, runId, launcher: sharedLauncher, home: kept, signer, bounds, secrets, settings });
}

async function hashOf(script: string): Promise<string | undefined> {
  const [{ readRegular }, { bytesHash }] = await Promise.all([import('../base/regular.ts'), import('../base/hash.ts')]);
  const bytes = readRegular(script, SCRIPT_BYTES_MAX);
  return bytes && bytesHash(bytes);
}

const SCRIPT_BYTES_MAX = 64 * 1024 * 1024;

async function orderOf(options: RunSuiteOptions, home: string, cwd: string): Promise<SuiteOrder> {
  const { DEFAULT_SETTINGS } = await import('../run/suite/settings.ts');
  const settings = checkedSettings(options, DEFAULT_SETTINGS);
  const { headers = [], secrets = {} } = options;
  const named = options.script === undefined ? httpNamed(options) : await scriptNamed(options, settings, cwd);
  const { repositoryAt } = await import('../execute/repository.ts');
  return {
    group: options.runId === undefined ? newRunId('suite', systemClock) : checkedRunId(options.runId),
    repetitions: options.repeat ?? 1,
    version: options.as,
    only: options.only ?? null,
    settings,
    secretNames: [...headers.map(({ env }) => env), ...Object.keys(secrets)],
    casesPath: inFolder(cwd, options.cases),
    outDir:
      options.out === undefined ? inFolder(path.dirname(home), path.join(home, 'runs')) : inFolder(cwd, options.out),
    repository: await repositoryAt(cwd),
    headers: headers.map(({ name, env }) => ({ name, env })),
    ...named,
  };
}

type Whom = Pick<SuiteOrder, 'target' | 'script' | 'bounds' | 'effective'>;

function httpNamed({ baseUrl, headers = [], secrets = {}, redirects = false }: RunSuiteOptions): Whom {
  for (const header of headers) checkHeader(header);
  if (baseUrl === undefined)
    throw new Fault(
      'usage',
      'Say whom to ask: an agent by its address (--base-url, baseUrl), or a script (--script, script).',
    );
  const target: SuiteTarget = {
    kind: 'http',
    url: checkedUrl(baseUrl, [...headers.map(({ value }) => value), ...Object.values(secrets)]),
    header_names: headers.map(({ name }) => name).sort(),
    redirects,
  };
  return { target, script: null, bounds: {}, effective: undefined };
}

async function scriptNamed(options: RunSuiteOptions, settings: SuiteSettings, cwd: string): Promise<Whom> {
  if (options.baseUrl !== undefined)
    throw new Fault(
      'usage',
      'Ask an agent at an address (--base-url, baseUrl) or a script (--script, script), not both.',
    );
  const script = path.resolve(cwd, options.script as string);
  const [{ checkOrder }, { offersOf }, { effectiveBounds }, { profileOf }, { sharedLauncher }] = await Promise.all([
    import('../run/order.ts'),
    import('../run/plan.ts'),
    import('../policy/bounds.ts'),
    import('./profile.ts'),
    import('./run-script.ts'),
  ]);
  const { profile, ...asked } = options.bounds ?? {};
  const bounds: Requested = {
    ...asked,
    ...(profile !== undefined && { profile: profileOf(profile) }),
    timeoutMs: settings.timeoutMs,
  };
  checkOrder({ script, bounds, secrets: options.secrets ?? {} });
  const effective = effectiveBounds(bounds, offersOf(await (await sharedLauncher()).machine()));
  const sha256 = await hashOf(script);
  if (sha256 === undefined) throw new Fault('usage', 'The script is not a regular file of at most 64 MiB.');
  const target: SuiteTarget = {
    kind: 'script',
    name: path.basename(script),
    sha256,
    bytes: statSync(script).size,
    sandbox: effective.sandbox,
    isolation: effective.isolation,
  };
  return { target, script, bounds, effective };
}
