import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { repetitionId } from '../contracts/suite/index.ts';
import type { RunPlace } from '../evidence/runs.ts';
import { signerAt } from './keys.ts';
import { ledgerOf } from './ledger.ts';
import { isAlive } from './recover.ts';
import { runAll, type RunSuiteOptions, type SuiteRunResult } from './run-suite.ts';

/** Goes on with a run that was interrupted, and with its repetitions. */
export async function resumeSuite(
  word: string,
  options: Pick<
    RunSuiteOptions,
    | 'cwd'
    | 'environment'
    | 'signingKey'
    | 'signal'
    | 'onProgress'
    | 'onFolder'
    | 'onWarning'
    | 'backoffMs'
    | 'breakerPausesMs'
  > & {
    /** The value of a variable of the environment. */
    readonly variable: (name: string) => string | undefined;
  },
): Promise<SuiteRunResult> {
  const { cwd = process.cwd(), signingKey, variable } = options;
  const { findRun, homeFrom } = await import('../evidence/runs.ts');
  const { suitePlanIn } = await import('../evidence/suite-resume.ts');
  const home = homeFrom(cwd);
  const signer = await signerAt(cwd, signingKey);
  const place = findRun(home, word);
  const { hasJournal, isSealed, removeJournal } = await import('../evidence/recover.ts');
  const open: RunPlace[] = [];
  for (const sibling of await siblingsOf(place)) {
    if (!hasJournal(sibling.folder)) continue;
    if (await isAlive({ plan: suitePlanIn(sibling.folder) }))
      throw new Fault('alive', `${sibling.id} is still running.`);
    if (isSealed(sibling.folder)) await removeJournal(sibling.folder, ledgerOf(home, options.onWarning, 'all of it'));
    else open.push(sibling);
  }
  const plans = open.flatMap(({ folder }) => suitePlanIn(folder) ?? []);
  const [plan] = plans;
  if (open.length > plans.length) {
    throw new Fault(
      'not_begun',
      'The run had not begun when it was interrupted. proctor recover removes it; then run the suite again.',
    );
  }
  if (!plan) throw new Fault('finished', 'The run is finished: there is nothing to resume.');
  const headers = plan.headers.map(({ name, env }) => ({ name, env, value: known(env, variable) }));
  const taken = new Set(headers.map(({ env }) => env));
  const secrets = plan.request.secret_names.filter(name => !taken.has(name)).map(name => [name, known(name, variable)]);
  return runAll(open, {
    ...options,
    headers,
    secrets: Object.fromEntries(secrets) as Record<string, string>,
    home,
    signer,
  });
}

/** The repetitions that a run belongs to, itself among them, as far as its journal or its request tells. */
async function siblingsOf(place: RunPlace): Promise<RunPlace[]> {
  const [{ hasJournal }, { suitePlanIn }, { readSuite }] = await Promise.all([
    import('../evidence/recover.ts'),
    import('../evidence/suite-resume.ts'),
    import('../evidence/suite-folder.ts'),
  ]);
  const request = hasJournal(place.folder) ? suitePlanIn(place.folder)?.request : readSuite(place.folder).request;
  if (!request) return [place];
  const { of, total } = request.repetition;
  return Array.from({ length: total }, (_, index) => {
    const id = repetitionId(of, index + 1);
    return { id, lane: place.lane, folder: path.join(path.dirname(place.folder), id) };
  });
}

function known(name: string, variable: (name: string) => string | undefined): string {
  const value = variable(name);
  if (value === undefined) throw new Fault('usage', `The variable ${printable(name)} is not set.`);
  return value;
}
