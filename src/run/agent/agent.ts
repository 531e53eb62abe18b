import path from 'node:path';
import type { AgentAdapter, Invocation } from '../../adapters/agent.ts';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { newRunId, newSessionId } from '../../base/ids.ts';
import type { ReviewedPath } from '../../contracts/agent-step/changes.ts';
import type { TranscriptLine } from '../../contracts/agent-step/reading.ts';
import type { EffectivePolicy } from '../../contracts/agent-step/policy.ts';
import type { Violation } from '../../contracts/agent-step/index.ts';
import type { AgentLine, AgentRun } from '../../evidence/agent-run.ts';
import type { resultOf } from '../../evidence/agent-documents.ts';
import type { RunPlace } from '../../evidence/runs.ts';
import { removeAfter } from '../../execute/abandoned.ts';
import { observe } from '../../execute/canary.ts';
import { type Clone, cloneFor } from '../../execute/clone.ts';
import type { Door } from '../../execute/door.ts';
import { takeSlot } from '../../execute/slots.ts';
import { makeStage, removeStage } from '../../execute/workspace.ts';
import { offersOf } from '../plan.ts';
import { type Around, Listener, recordRun } from '../recorded.ts';
import { carryOut } from './carry-out.ts';
import { type Guarded, guardedIn } from './guarded.ts';
import { modelFor, type ModelAccess, openDoorFor, warningsOf } from './model.ts';
import { type AgentOrder, checkAgentOrder } from './order.ts';
import { type Bound, boundFor, boundWith } from './bound.ts';
import { jobFor, layOut, planOf } from './plan.ts';
import { type Program, programFor, versionWarnings } from './program.ts';
import { type FoundContext, projectContext } from './project-context.ts';

export type { AgentOrder } from './order.ts';

/** Where a run is kept, and who watches it. */
export interface AgentAround extends Omit<Around, 'onOutput'> {
  /** What the agent does, told in the turn of the event loop in which its line came. */
  readonly onEvent?: (line: TranscriptLine) => void;
  /** Something that does not touch the run, but that its caller should know. */
  readonly onWarning?: (sentence: string) => void;
}

/** How an agent's run ended, and where its evidence is. */
export interface AgentAnswer {
  readonly place: RunPlace;
  readonly run: AgentRun;
  readonly result: ReturnType<typeof resultOf>;
  readonly effective: EffectivePolicy;
  readonly violations: readonly Violation[];
  readonly changes: { readonly files: number; readonly commits: number } | null;
  /** Changes that run by themselves where they are applied. */
  readonly needsReview: readonly ReviewedPath[];
}

/** Lets an agent do a task on a private clone, in a sandbox, under a policy, and writes the evidence. */
export async function runAgent(order: AgentOrder, around: AgentAround): Promise<AgentAnswer> {
  const adapter = checkAgentOrder(order);
  try {
    return await runChecked(order, adapter, around);
  } finally {
    if (around.launcher.isLost()) await removeAfter(around.launcher.pid);
  }
}

/** Everything that is known before something is made for the run. */
export interface Ready {
  readonly id: string;
  readonly order: AgentOrder;
  readonly adapter: AgentAdapter;
  readonly bound: Bound;
  readonly program: Program;
  readonly model: ModelAccess;
  readonly sessionId: string;
  readonly around: AgentAround;
}

/** What was made for the run. */
export interface Made {
  readonly stage: string;
  readonly clone: Clone;
  readonly guarded: Guarded;
  /** The way to the model, if there is one. Nobody is harmed who closes it twice. */
  readonly door: Door | undefined;
  readonly context: FoundContext;
  readonly invocation: Invocation;
}

async function runChecked(order: AgentOrder, adapter: AgentAdapter, around: AgentAround): Promise<AgentAnswer> {
  const machine = await around.launcher.machine();
  const listener = new Listener(around.onEvent);
  const asked = boundFor(order, adapter, offersOf(machine));
  const model = modelFor(order, adapter);
  const program = await programFor(order, adapter, around);
  const bound = boundWith(asked, adapter, program);
  const ready: Ready = {
    id: newRunId('agent', systemClock),
    order,
    adapter,
    bound,
    program,
    model,
    sessionId: model.session ?? newSessionId(),
    around: { ...around, ...(listener.tell && { onEvent: listener.tell }) },
  };
  for (const warning of [...warningsOf(model), ...versionWarnings(program)]) around.onWarning?.(warning);
  const free = await takeSlot(around);
  let stage: string | undefined;
  let door: Door | undefined;
  try {
    stage = makeStage(ready.id);
    const startedAtMs = systemClock.now();
    const clone = await cloneFor(order.dir, stage, {
      runId: ready.id,
      allowDirty: order.allowDirty === true,
      readOnly: bound.effective.execution_posture === 'read_only',
    });
    for (const note of clone.notes) around.onWarning?.(note);
    door = await openDoorFor(ready, stage);
    const context = projectContext(adapter, clone, order.projectContext !== false);
    const invocation = layOut(ready, { stage, clone, door, context });
    const guarded = guardedIn(clone, bound.effective);
    const made: Made = { stage, clone, guarded, door, context, invocation };
    const job = await jobFor(ready, made);
    const observed = await observe(around.launcher, job, path.join(around.home, 'cache'));
    const prepared = await around.launcher.open(job);
    const plan = planOf({ ready, made, job, machine, observed, startedAtMs });
    const answer = await recordRun<AgentLine, AgentAnswer>(
      { prepared, id: ready.id, lane: 'agent', planned: { is: 'planned', plan }, around },
      (place, journal) => carryOut({ ready, made, prepared, job, plan }, place, journal),
    );
    await door?.close().catch(unrecorded);
    if (listener.failure) throw listener.failure.error;
    return answer;
  } finally {
    // Whatever it has to say was said, or something else went wrong before.
    await door?.close().catch(() => undefined);
    free();
    if (stage !== undefined) removeStage(stage);
  }
}

/** The run is complete, and what was to be recorded of it is not. */
function unrecorded(error: unknown): never {
  if (!(error instanceof Fault)) throw error;
  throw new Fault(error.code, `${error.message} The run itself is complete, and proctor show tells of it.`, {
    cause: error.cause,
  });
}
