import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { contentHash } from '../base/hash.ts';
import { followLink } from '../base/regular.ts';
import { attemptsIn } from '../evidence/run-folder/runs.ts';
import { suiteCases } from '../evidence/suite/suite-folder.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import type { AgentOrder } from '../run/agent/order.ts';
import { askedIn } from '../run/suite/agent-asked.ts';
import type { CaseSetups } from '../run/suite/agent-work.ts';
import { checkRecordings, makeRecordings, recordingsOf } from '../run/suite/recordings.ts';
import type { SuiteSettings } from '../run/suite/settings.ts';
import type { Target } from '../run/suite/target.ts';
import { sharedLauncher } from './launcher.ts';
import type { RunSuiteOptions, StartedSuiteRun } from './run-suite.ts';
import type { Whom } from './suite-targets.ts';

/** The agent in a run's plan. Refuses it if the agent, or anything that the cases use, changed. */
export async function agentFor(
  { request }: SuitePlan,
  where: NonNullable<SuitePlan['agent']>,
  { secrets = {}, environment = {}, home, signer }: StartedSuiteRun,
  settings: SuiteSettings,
  folder: string,
): Promise<Target> {
  const { version: side, target } = request;
  const [{ agentTarget, namedAgent }, { setupsIn }, { judgeAgentRun }] = await Promise.all([
    import('../run/suite/agent-target.ts'),
    import('../run/suite/case-setups.ts'),
    import('../judge/agent/judge-agent.ts'),
  ]);
  const kept = attemptsIn(home);
  const claimsIn = async (folder: string) => (await judgeAgentRun(folder, signer)).flags;
  const agent = target.kind === 'agent' ? target.name : '';
  const keepCredentials = request.keep_credentials === true;
  const { recordings: recorded, casesDir = where.cwd, commits, ...asked } = where;
  const order = { ...asked, agent, secrets, keepCredentials, environment, needsModel: true, ...clocksOf(settings) };
  const now = await namedAgent(
    order,
    { folder: casesDir, setups: setupsIn(suiteCases(folder)) },
    { launcher: await sharedLauncher(), home: kept, signer: undefined },
  );
  if (contentHash(now.target) !== request.target_sha256)
    throw new Fault(
      'agent_changed',
      'The agent, a policy, or a folder that the cases use changed since the run started. Restore it, or start a new run.',
    );
  if (commits !== undefined && commits !== now.commits)
    throw new Fault(
      'commit_changed',
      'A repository that the cases use is at another commit than when the run started. Check out that commit, or start a new run.',
    );
  const recordings = recordingsOf(where.modelMode, recorded);
  if (recordings) makeRecordings(recordings);
  const { number: repetition } = request.repetition;
  const launcher = sharedLauncher;
  return agentTarget({
    order,
    casesDir,
    recordings,
    repetition,
    side,
    launcher,
    home: kept,
    signer,
    settings,
    claimsIn,
  });
}

/** Checks and describes an agent and the work of the cases, before anything is written. */
export async function describeAgent(
  options: RunSuiteOptions & { agent: string },
  settings: SuiteSettings,
  home: string,
  cwd: string,
  known: CaseSetups['setups'] | undefined,
): Promise<Whom> {
  const { agent, policy = 'read-only', dir = '.', secrets = {}, environment = {}, bounds } = options;
  const [{ namedAgent }, { setupsOfFile }, { suiteChecks, suiteMounts }] = await Promise.all([
    import('../run/suite/agent-target.ts'),
    import('../run/suite/case-setups.ts'),
    import('../run/suite/suite-checks.ts'),
  ]);
  const { recordings: folder, mounts, checks, ...rest } = askedIn(options);
  const every = { ...suiteMounts(mounts, cwd), ...suiteChecks(checks, options.checksFile, cwd) };
  const asked = { ...rest, ...every };
  const file = path.resolve(cwd, options.cases);
  const casesDir = options.casesFolder ?? path.dirname(followLink(file));
  const setups =
    known ??
    setupsOfFile(
      file,
      options.only,
      (every.checks ?? []).map(({ name }) => name),
    );
  const recordings = recordingsOf(asked.modelMode, folder && path.resolve(cwd, folder));
  if (recordings) checkRecordings(recordings);
  const cpus = bounds?.cpus;
  const where = { dir: path.resolve(cwd, dir), policy, cwd, ...(cpus !== undefined && { cpus }), ...asked };
  const { commits, ...named } = await namedAgent(
    { ...where, agent, secrets, environment, needsModel: true, ...clocksOf(settings) },
    { folder: casesDir, setups },
    { launcher: await sharedLauncher(), home: attemptsIn(home), signer: undefined },
  );
  return {
    ...named,
    script: null,
    agent: {
      ...where,
      casesDir,
      ...(commits !== undefined && { commits }),
      ...(recordings && { recordings: recordings.folder }),
    },
    bounds: {},
  };
}

function clocksOf({ timeoutMs, idleMs }: SuiteSettings): Pick<AgentOrder, 'timeoutMs' | 'idleMs'> {
  return { timeoutMs, idleMs };
}
