import path from 'node:path';
import type { AgentAdapter, Invocation } from '../../adapters/agent.ts';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { newRunId, newSessionId } from '../../base/ids.ts';
import type { BaseNote } from '../../contracts/agent-step/base.ts';
import type { ReviewedPath } from '../../contracts/agent-step/changes.ts';
import type { PolicyViolation } from '../../contracts/agent-step/index.ts';
import type { EffectivePolicy } from '../../contracts/agent-step/policy.ts';
import type { TranscriptLine } from '../../contracts/agent-step/reading.ts';
import { agentDocuments, resultOf } from '../../evidence/agent/agent-documents.ts';
import type { AgentJudgement, AgentPlan, AgentRun } from '../../evidence/agent/agent-run.ts';
import { PARTS } from '../../evidence/recovery/recovery-parts.ts';
import type { RunFolder } from '../../evidence/run-folder/runs.ts';
import type { CaptureNote } from '../../evidence/step/capture-note.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import type { Door } from '../../execute/model/door.ts';
import type { Job } from '../../execute/job/job.ts';
import type { Machine } from '../../execute/host/machine.ts';
import { type ReadyCheck, readyChecks } from '../checks/order.ts';
import { refuseCovered } from '../checks/mounts-now.ts';
import { type Overlay, overlayWarnings } from '../checks/overlay.ts';
import type { CompletedRun, JournaledRun, JudgedStep, RunContext } from '../pipeline/journaled-run.ts';
import { runJournaled } from '../pipeline/pipeline.ts';
import { offersOf } from '../pipeline/runner-plan.ts';
import { OutputObserver } from '../pipeline/steps.ts';
import type { FailedSetups } from '../setup/failed-setups.ts';
import { type ReadySetup, readySetup } from '../setup/order.ts';
import { type Bound, boundFor, boundWith } from './bound.ts';
import { type Guarded, guardedIn } from './guarded.ts';
import { agentKind } from './kind.ts';
import { type AgentMounts, agentMounts } from './mounts.ts';
import { modelFor, type ModelAccess, openDoorFor, warningsOf } from './model.ts';
import { type AgentOrder, checkAgentOrder } from './order.ts';
import { agentJob, layOut, agentPlan } from './plan.ts';
import { type TriedProgram, programFor, versionWarnings } from './program.ts';
import { type FoundContext, projectContext } from './project-context.ts';
import { agentStart, startFiles } from './start.ts';
import { judgeAgent, watchAgent } from './steps.ts';
import type { WatchedStream } from './watch.ts';

export type { AgentOrder } from './order.ts';

/** Where a run is stored, and its callbacks. */
export interface AgentContext extends Omit<RunContext, 'onOutput'> {
  /** Receives each agent event, in the same turn of the event loop as its line. */
  readonly onEvent?: (line: TranscriptLine) => void;
  /** Receives a warning about something that does not affect the run. */
  readonly onWarning?: (sentence: string) => void;
  /** The setups that failed in the suite run that this run is part of. */
  readonly failedSetups?: FailedSetups;
}

/** How an agent run ended, and where its evidence is. */
export interface AgentAnswer {
  readonly place: RunFolder;
  readonly run: AgentRun;
  readonly result: ReturnType<typeof resultOf>;
  readonly effective: EffectivePolicy;
  readonly violations: readonly PolicyViolation[];
  readonly changes: { readonly files: number; readonly commits: number } | null;
  /** Changed files that run automatically once applied, such as hooks. */
  readonly needsReview: readonly ReviewedPath[];
}

/** Runs an agent on a private clone, in a sandbox and under a policy, and writes the evidence. */
export async function executeAgent(order: AgentOrder, around: AgentContext): Promise<AgentAnswer> {
  const adapter = checkAgentOrder(order);
  const listener = new OutputObserver(around.onEvent);
  const observed = { ...around, ...(listener.notify && { onEvent: listener.notify }) };
  const sealed = await runJournaled(around, async machine =>
    agentRun(await checked(order, adapter, machine, observed)),
  );
  const { place, made, judged } = sealed;
  await made.door?.close().catch(unrecorded);
  if (listener.failure) throw listener.failure.error;
  const run = recordedRun(sealed);
  const { effective } = made.ready.bound;
  const { violations, changes, needsReview } = judged;
  return { place, run, result: resultOf(run), effective, violations, changes, needsReview };
}

/** A run that was checked against this machine. Nothing has been created for it yet. */
export interface CheckedAgentRun {
  readonly id: string;
  readonly order: AgentOrder;
  readonly adapter: AgentAdapter;
  readonly bound: Bound;
  readonly program: TriedProgram;
  readonly model: ModelAccess;
  readonly sessionId: string;
  readonly machine: Machine;
  /** With their hidden files, which were read before the agent starts. */
  readonly checks: readonly ReadyCheck[];
  /** The files that join the base commit. */
  readonly files: Overlay | undefined;
  readonly setup: ReadySetup | undefined;
  readonly around: AgentContext;
}

async function checked(
  order: AgentOrder,
  adapter: AgentAdapter,
  machine: Machine,
  around: AgentContext,
): Promise<CheckedAgentRun> {
  const offers = offersOf(machine);
  const asked = boundFor(order, adapter, offers);
  const checks = readyChecks(order.checks ?? [], order.cwd, offers);
  const files = startFiles(order);
  const setup = readySetup(order.setup, asked.bounds.network, offers);
  const model = modelFor(order, adapter);
  const program = await programFor(order, adapter, around);
  const bound = boundWith(asked, adapter, program);
  const id = newRunId('agent', systemClock);
  for (const warning of [...warningsOf(model), ...versionWarnings(program)]) around.onWarning?.(warning);
  const sessionId = model.session ?? newSessionId();
  return { id, order, adapter, bound, program, model, sessionId, machine, checks, files, setup, around };
}

/** Everything that `prepare` creates for the run. */
export interface AgentWorkspace {
  readonly stage: string;
  readonly clone: Clone;
  readonly guarded: Guarded;
  /** The model proxy, if there is one. Closing it twice is harmless. */
  readonly door: Door | undefined;
  readonly context: FoundContext;
  readonly invocation: Invocation;
  readonly mounted: AgentMounts;
  /** What the agent starts from; undefined if that is only a folder. */
  readonly base: BaseNote | undefined;
}

export interface AgentTypes {
  readonly plan: AgentPlan;
  readonly made: AgentWorkspace & { readonly ready: CheckedAgentRun; readonly job: Job; readonly startedAtMs: number };
  readonly seen: WatchedStream & { readonly capture: CaptureNote; readonly refsWritten: ReadonlySet<string> };
  readonly judged: JudgedStep<AgentJudgement> & Pick<AgentAnswer, 'violations' | 'changes' | 'needsReview'>;
}

function agentRun(ready: CheckedAgentRun): JournaledRun<AgentTypes> {
  const { id, order, adapter, bound, around } = ready;
  let door: Door | undefined;
  return {
    kind: agentKind,
    id,
    async prepare(stage, folder) {
      const startedAtMs = systemClock.now();
      const { clone, note: base } = await agentStart(ready, stage);
      for (const note of [...clone.notes, ...overlayWarnings(ready.checks, clone)]) around.onWarning?.(note);
      const mounted = await agentMounts(order, clone);
      refuseCovered(ready.checks, mounted.inTree, clone.startIn);
      door = await openDoorFor(ready, stage);
      const context = projectContext(adapter, clone, order.projectContext !== false);
      const invocation = layOut(ready, { stage, clone, door, context });
      const workspace = {
        stage,
        clone,
        guarded: guardedIn(clone, bound.effective),
        door,
        context,
        invocation,
        mounted,
        base,
      };
      return { ...workspace, ready, job: await agentJob(ready, workspace, folder), startedAtMs };
    },
    plan: agentPlan,
    begin: ({ place, made }) => made.door?.countIn(path.join(place.folder, PARTS.door)),
    watch: watchAgent,
    judge: judgeAgent,
    documents: run => agentDocuments(recordedRun(run)),
    async release() {
      await door?.close().catch(() => undefined);
    },
  };
}

function recordedRun({ plan, seen, judged, completedAtMs }: CompletedRun<AgentTypes>): AgentRun {
  return { plan, capture: seen.capture, judgement: judged.reading, completedAtMs };
}

/** The run is sealed, but its model recording could not be written. */
function unrecorded(error: unknown): never {
  if (!(error instanceof Fault)) throw error;
  throw new Fault(error.code, `${error.message} The run itself is complete; see proctor show.`, {
    cause: error.cause,
  });
}
