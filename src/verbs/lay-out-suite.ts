import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { newRunId } from '../base/ids.ts';
import { repetitionId } from '../contracts/suite/index.ts';
import { stateWarning } from '../evidence/run-folder/chain.ts';
import { homeFrom, makeHome, type RunFolder } from '../evidence/run-folder/runs.ts';
import { repositoryAt } from '../execute/worktree/repository.ts';
import type { AskedTarget } from '../run/suite/case-findings.ts';
import { checkCaseFile } from '../run/suite/cases-file.ts';
import { copyLayout, layOutCases } from '../run/suite/layout.ts';
import { type SuiteOrder, suitePlan } from '../run/suite/plan.ts';
import { AGENT_CLOCKS, DEFAULT_SETTINGS } from '../run/suite/settings.ts';
import { layOutSuite, placeFor } from '../run/suite/suite.ts';
import { withDeclared } from './declared.ts';
import { signerAt } from './keys.ts';
import { refuseTaken } from './ledger.ts';
import { checkQueueable, checkStoreFor } from './queue-choice.ts';
import { removeUnbegunSuite } from './recover.ts';
import type { RunSuiteOptions, StartedSuiteRun } from './run-suite.ts';
import { checkSuiteOptions } from './suite-options.ts';
import { describeTarget } from './suite-targets.ts';
import { checkTwiceTarget, twiceChoice } from './twice-choice.ts';
import { checkedRunId, checkedSettings, inFolder } from './suite-words.ts';

/** How a suite is prepared for another process. */
export interface LaidOutFor {
  /** The name of the cases file in the evidence; its path in the working folder by default. */
  readonly casesPath?: string;
  /** No process owns the run, so that any process of this user can resume it. */
  readonly isReleased?: boolean;
}

/** Prepares the run folders of a suite. When it returns, they contain everything that `--resume` needs. */
export async function laidOutSuite(
  given: RunSuiteOptions,
  { casesPath, isReleased = false }: LaidOutFor = {},
): Promise<{ readonly places: readonly RunFolder[]; readonly going: StartedSuiteRun }> {
  checkSuiteOptions(given);
  const { cwd = process.cwd(), repeat = 1 } = given;
  const options = await withDeclared(given, cwd);
  const home = homeFrom(cwd);
  const signer = signerAt(cwd, options.signingKey);
  const described = await orderOf(options, home, cwd);
  const order: SuiteOrder = {
    ...described,
    ...(casesPath !== undefined && { casesPath }),
    ...(options.twice !== undefined && { twice: twiceChoice(options.twice, signer) }),
  };
  const out = options.out === undefined ? path.join(home, 'runs') : path.resolve(cwd, options.out);
  const numbers = Array.from({ length: repeat }, (_, index) => index + 1);
  const ids = numbers.map(number => repetitionId(order.group, number));
  for (const id of ids) removeUnbegunSuite(path.join(out, options.as, id));
  const places = ids.map(id => placeFor(out, options.as, id));
  if (options.runId !== undefined && options.out === undefined) refuseTaken(home, ids, options.as);
  // A misspelled name must not leave a .proctor behind.
  checkCaseFile(path.resolve(cwd, options.cases));
  makeHome(home);
  const unproven = stateWarning();
  if (unproven !== undefined) options.onWarning?.(unproven);
  let first: ReturnType<typeof layOutCases> | undefined;
  for (const [index, place] of places.entries()) {
    const write = (folder: string) => {
      first = first
        ? copyLayout((places[0] as RunFolder).folder, first, folder)
        : layOutCases(path.resolve(cwd, options.cases), order.only, folder, askedTarget(order), order.shard);
      return first;
    };
    layOutSuite({ place, write, planOf: (cases, all) => suitePlan(order, index + 1, cases, all), isReleased });
  }
  return { places, going: { ...options, home, signer } };
}

/** What the cases are checked against: the kind of the target, and the checks of every case. */
function askedTarget({ target: { kind }, agent }: SuiteOrder): AskedTarget {
  return { kind, checks: (agent?.checks ?? []).flatMap(({ name }) => name ?? []) };
}

/** The settings of a suite, as its plan stores them. */
export async function orderOf(given: RunSuiteOptions, home: string, cwd: string): Promise<SuiteOrder> {
  const options = await withDeclared(given, cwd);
  const settings =
    options.agent === undefined
      ? checkedSettings({ ...options.ofTarget, ...options }, DEFAULT_SETTINGS)
      : checkedSettings({ ...AGENT_CLOCKS, ...options.ofTarget, ...options }, DEFAULT_SETTINGS);
  const { headers = [], secrets = {} } = options;
  const named = await describeTarget(options, settings, home, cwd);
  if (options.queue !== undefined) {
    checkQueueable(named.target);
    checkStoreFor(named.target, options);
    checkTwiceTarget(named.target, options.twice);
  }
  return {
    group: options.runId === undefined ? newRunId('suite', systemClock) : checkedRunId(options.runId),
    repetitions: options.repeat ?? 1,
    version: options.as,
    only: options.only ?? null,
    ...(options.shard && { shard: options.shard }),
    ...(options.suite !== undefined && { suite: options.suite }),
    settings,
    secretNames: [...headers.map(({ env }) => env), ...Object.keys(secrets)],
    keepCredentials: options.keepCredentials === true,
    isQueued: options.queue !== undefined,
    ...(options.provenance && { provenance: options.provenance }),
    casesPath: inFolder(cwd, options.cases),
    outDir:
      options.out === undefined ? inFolder(path.dirname(home), path.join(home, 'runs')) : inFolder(cwd, options.out),
    repository: await repositoryAt(cwd),
    headers: headers.map(({ name, env }) => ({ name, env })),
    gate: await limitsOf(options, cwd),
    ...named,
  };
}

/** The limits of the run. Gates are loaded only if there is one. */
async function limitsOf(options: RunSuiteOptions, cwd: string): Promise<SuiteOrder['gate']> {
  if (options.gate === undefined && options.limits === undefined) return undefined;
  return (await import('./gate-settings.ts')).limitsFor(options, cwd);
}
