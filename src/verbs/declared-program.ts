import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { stateFolder } from '../base/state-folder.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import { type Effective, effectiveLimits, type Requested } from '../policy/effective-limits.ts';
import { offersOf } from '../run/pipeline/runner-plan.ts';
import { checkProgram } from '../run/suite/program-job.ts';
import { type ProgramAgent, programTarget } from '../run/suite/program-target.ts';
import type { SuiteSettings } from '../run/suite/settings.ts';
import type { DeclaredTarget } from '../run/suite/target-file.ts';
import type { Target } from '../run/suite/target.ts';
import { compileProgram, type ProgramDeclaration } from '../targets/program-call.ts';
import { sharedLauncher } from './launcher.ts';
import { profileOf } from './profile.ts';
import type { RunSuiteOptions } from './run-suite.ts';

/** How a program of a target file is isolated and limited on this machine. */
export interface ProgramBounds {
  readonly bounds: Requested;
  readonly effective: Effective;
  readonly isolated: Pick<Extract<SuiteTarget, { kind: 'declared' }>, 'sandbox' | 'isolation'>;
}

/** Refuses a program that does not exist, and limits that Proctor cannot enforce here. */
export async function programBounds(
  declaration: ProgramDeclaration,
  { dir }: Pick<DeclaredTarget, 'dir'>,
  { bounds: asked = {}, environment = {} }: Pick<RunSuiteOptions, 'bounds' | 'environment'>,
  settings: SuiteSettings,
): Promise<ProgramBounds> {
  const { profile, ...others } = asked;
  const { sandbox } = declaration;
  const bounds: Requested = {
    ...(sandbox && { sandbox }),
    ...others,
    ...(profile !== undefined && { profile: profileOf(profile) }),
    timeoutMs: settings.timeoutMs,
    // An idle timeout as long as the timeout has no effect.
    ...(settings.idleMs < settings.timeoutMs && { idleMs: settings.idleMs }),
  };
  const effective = await effectiveHere(declaration, bounds);
  checkProgram({ declaration, dir, effective, environment });
  return { bounds, effective, isolated: { sandbox: effective.sandbox, isolation: effective.isolation } };
}

async function effectiveHere({ network }: ProgramDeclaration, bounds: Requested): Promise<Effective> {
  const effective = effectiveLimits(bounds, offersOf(await (await sharedLauncher()).machine()));
  if (network === 'block' && effective.network === 'open')
    throw new Fault(
      'not_enforceable',
      'Proctor cannot block network access for this target: the sandbox or the profile allows it. Use the process sandbox and a profile without network access.',
    );
  if (network === 'allow' && bounds.profile && !bounds.profile.allow_network)
    throw new Fault('not_enforceable', `The target needs the network, which profile ${bounds.profile.name} blocks.`);
  return network === 'allow' ? { ...effective, network: 'open' } : effective;
}

type Agent = Pick<
  ProgramAgent,
  | 'side'
  | 'runId'
  | 'read'
  | 'joins'
  | 'secrets'
  | 'keepCredentials'
  | 'variable'
  | 'settings'
  | 'environment'
  | 'onProgram'
>;

interface ProgramPlace {
  readonly dir: string;
  /** Stored with the plan of the run. */
  readonly bounds: Requested;
  readonly home: string | undefined;
}

/** The target for a program. Refuses to continue a run whose program would be isolated differently. */
export async function programTargetFor(
  { sandbox, isolation }: Extract<SuiteTarget, { kind: 'declared' }>,
  declaration: ProgramDeclaration,
  { dir, bounds, home }: ProgramPlace,
  agent: Agent,
): Promise<Target> {
  const effective = await effectiveHere(declaration, bounds);
  if (
    effective.sandbox !== (sandbox ?? effective.sandbox) ||
    effective.isolation !== (isolation ?? effective.isolation)
  )
    throw new Fault(
      'not_enforceable',
      'This machine no longer isolates programs as it did when the run started. Start a new run.',
    );
  return programTarget({
    ...agent,
    declaration,
    dir,
    effective,
    hidden: [path.join(dir, '.proctor'), ...stateFolders(), ...(home === undefined ? [] : [home])],
    call: compileProgram(declaration),
    launcher: sharedLauncher,
    bodyBytesMax: agent.settings.bodyBytesMax,
    ...(home !== undefined && { rememberIn: path.join(home, 'cache') }),
  });
}

/** Empty for a user without a home folder. */
function stateFolders(): string[] {
  try {
    return [stateFolder()];
  } catch {
    return [];
  }
}
