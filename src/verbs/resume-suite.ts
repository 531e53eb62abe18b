import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { repetitionId } from '../contracts/suite/index.ts';
import { isStartedHere } from '../evidence/run-folder/journal.ts';
import { hasJournal, isSealed, removeJournal } from '../evidence/recovery/recover.ts';
import { findRun, homeFrom, type RunFolder } from '../evidence/run-folder/runs.ts';
import { readSuiteFolder } from '../evidence/suite/suite-folder.ts';
import { suitePlanIn } from '../evidence/suite/suite-resume.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import { askedIn } from '../run/suite/agent-asked.ts';
import { adopt, checkNamedAgain, type AdoptOptions } from './adopt-suite.ts';
import { checkSameVersion, withDeclared } from './declared.ts';
import { suiteResultIn } from './fetched-suite.ts';
import { isUnjudged, judgeLate } from './judged.ts';
import { signerAt } from './keys.ts';
import { ledgerOf } from './ledger.ts';
import { refuseUnknown } from './options.ts';
import { checkQueueOptions, QUEUE_OPTIONS, type QueueOptions } from './queue-choice.ts';
import { isOwnerAlive } from './recover.ts';
import { runAll, type RunSuiteOptions, type ShownSuiteResult, whileAlone } from './run-suite.ts';
import { TARGET_OPTIONS } from './suite-options.ts';

export type ResumeOptions = Pick<
  RunSuiteOptions,
  | 'cwd'
  | 'environment'
  | 'signingKey'
  | 'signal'
  | 'onProgress'
  | 'onVerdict'
  | 'onFolder'
  | 'onWarning'
  | 'tracer'
  | 'backoffMs'
  | 'breakerPausesMs'
  | keyof QueueOptions
> &
  AdoptOptions & {
    /** Reads an environment variable. Used only for a run that was started here. */
    readonly variable: (name: string) => string | undefined;
  };

/**
 * Resumes an interrupted run and its repetitions, or judges a run that died before it was judged. A run that was
 * started here keeps its settings. For a run from another machine, the user must specify the target and variables
 * again, because Proctor trusts only its cases and answers.
 */
export async function resumeSuite(word: string, options: ResumeOptions): Promise<ShownSuiteResult> {
  refuseUnknown('resumeSuite', options, OPTIONS);
  const { cwd = process.cwd(), signingKey, variable } = options;
  const home = homeFrom(cwd);
  const signer = signerAt(cwd, signingKey);
  const place = findRun(home, word);
  const { open, isOurs } = await openAround(place, home, options);
  const [plan] = open.map(one => one.plan);
  if (!plan) return judgedLate(place, cwd, options);
  const places = open.map(one => one.place);
  const going = { ...options, home, signer };
  if (plan.request.queued) {
    if (!isOurs)
      throw new Fault(
        'not_started_here',
        'Workers made the attempts of this run, and you did not start it on this machine. Run the suite again under the same --run-id, with --queue and --worker-key.',
      );
    const { withQueue } = await import('./queued-suite.ts');
    checkQueueOptions(options);
    // The conductor masks what it reads from the runs of a script.
    const names = plan.request.target.kind === 'script' ? plan.request.secret_names : [];
    const secrets = Object.fromEntries(names.map(name => [name, known(name, variable)]));
    return withQueue(options, queue => runAll(places, { ...going, secrets, queue }));
  }
  if (!isOurs) {
    checkNamedAgain(word, plan, options);
    const named = await withDeclared({ ...options, cases: '', as: plan.request.version }, cwd);
    for (const one of open) await adopt(one, named, home, cwd);
    return runAll(places, { ...going, ...(named.secrets && { secrets: named.secrets }) });
  }
  checkNothingNamed(options, plan);
  const headers = plan.headers.map(({ name, env }) => ({ name, env, value: known(env, variable) }));
  const taken = new Set(headers.map(({ env }) => env));
  const names = plan.request.secret_names.filter(name => !taken.has(name));
  const secrets = Object.fromEntries(names.map(name => [name, known(name, variable)]));
  await checkSameVersion(plan, { ...options, secrets });
  return runAll(places, { ...going, headers, secrets });
}

/** Judges a sealed run whose process died before it had judged the answers. */
async function judgedLate(
  place: RunFolder,
  cwd: string,
  { signal, signingKey }: ResumeOptions,
): Promise<ShownSuiteResult> {
  if (!isSealed(place.folder) || !isUnjudged(place.folder))
    throw new Fault('finished', 'The run is finished. There is nothing to resume.');
  const judge = { home: homeFrom(cwd), ...(signal && { signal }) };
  await whileAlone(place, async () => {
    if (isUnjudged(place.folder)) await judgeLate(place.folder, judge, signerAt(cwd, signingKey));
  });
  return suiteResultIn(place, cwd, signingKey);
}

const OPTIONS: Record<keyof ResumeOptions, true> = {
  ...TARGET_OPTIONS,
  ...QUEUE_OPTIONS,
  cwd: true,
  signingKey: true,
  signal: true,
  onProgress: true,
  onVerdict: true,
  onWarning: true,
  tracer: true,
  onFolder: true,
  backoffMs: true,
  breakerPausesMs: true,
  variable: true,
};

interface Open {
  readonly place: RunFolder;
  readonly plan: SuitePlan;
}

/** The unfinished repetitions of the run, all started here or all elsewhere. Removes journals of sealed runs. */
async function openAround(
  place: RunFolder,
  home: string,
  { onWarning }: ResumeOptions,
): Promise<{ readonly open: readonly Open[]; readonly isOurs: boolean }> {
  const siblings = siblingsOf(place).filter(({ folder }) => hasJournal(folder));
  const named = siblings.filter(({ folder }) => folder === place.folder);
  const isOurs = (named.length > 0 ? named : siblings).some(({ folder }) => isStartedHere(folder));
  const ofThese = siblings.filter(({ folder }) => isStartedHere(folder) === isOurs);
  const open: Open[] = [];
  for (const sibling of ofThese) {
    const plan = suitePlanIn(sibling.folder);
    if (isOwnerAlive({ plan })) throw new Fault('alive', `${sibling.id} is still running.`);
    if (isSealed(sibling.folder)) {
      if (isOurs) await removeJournal(sibling.folder, ledgerOf(home, onWarning, 'all of it'));
    } else if (plan) open.push({ place: sibling, plan });
    else throw new Fault('not_begun', isOurs ? UNBEGUN : 'The folder contains no suite run that has started.');
  }
  return { open, isOurs };
}

const UNBEGUN =
  'The run was interrupted before it started. Run proctor recover to remove it, then run the suite again.';

/** All repetitions of a run, including itself, according to its journal or request. */
function siblingsOf(place: RunFolder): RunFolder[] {
  const request = hasJournal(place.folder) ? suitePlanIn(place.folder)?.request : readSuiteFolder(place.folder).request;
  if (!request) return [place];
  const { of, total } = request.repetition;
  return Array.from({ length: total }, (_, index) => {
    const id = repetitionId(of, index + 1);
    return { id, lane: place.lane, folder: path.join(path.dirname(place.folder), id) };
  });
}

/** Rejects options that a resumed run would ignore. */
function checkNothingNamed(options: ResumeOptions, { request: { target } }: SuitePlan): void {
  const {
    baseUrl,
    target: file,
    script,
    agent,
    policy,
    dir,
    redirects,
    headers = [],
    secrets = {},
    bounds = {},
  } = options;
  // Query values are not stored, so the user must specify the same URL again.
  const hasQuery = target.kind === 'http' && target.url.includes('?');
  const named = [hasQuery ? undefined : baseUrl, file, script, agent, policy, dir, redirects, options.checksFile].some(
    word => word !== undefined,
  );
  if (!named && headers.length === 0 && Object.keys({ ...secrets, ...bounds, ...askedIn(options) }).length === 0)
    return;
  throw new Fault(
    'usage',
    'This run was started here and keeps its settings. With --resume, specify no cases and no flags except --json, and --base-url if the URL of the run has a query.',
  );
}

function known(name: string, variable: (name: string) => string | undefined): string {
  const value = variable(name);
  if (value === undefined) throw new Fault('usage', `The environment variable ${printable(name)} is not set.`);
  return value;
}
