import path from 'node:path';
import { closeSync, openSync } from 'node:fs';
import { agentNamed } from '../../adapters/agents.ts';
import { readChunk } from '../../base/chunk.ts';
import { Fault } from '../../base/fault.ts';
import { LineCutter } from '../../base/line-cutter.ts';
import type { AgentOutcome, PolicySummary } from '../../contracts/agent-step/index.ts';
import type { AgentReading } from '../../contracts/agent-step/reading.ts';
import type { RecoveredNote } from '../../contracts/script-outcome/shape.ts';
import { AGENT_FILES } from '../../evidence/agent/agent-documents.ts';
import { type AgentLeft, recoveredReason } from '../../evidence/agent/agent-recover.ts';
import type { AgentJudgement, AgentPlan } from '../../evidence/agent/agent-run.ts';
import { doorCountIn } from '../../evidence/agent/door-count.ts';
import { against } from '../../evidence/agent/policy-summary.ts';
import { workspaceStatusOf } from '../../evidence/agent/workspace-status.ts';
import { doorViolations } from '../../policy/door-violations.ts';
import { guardOf } from '../../policy/run-violations.ts';
import { during } from './judged.ts';
import { maskedStatus } from './masked.ts';
import { terminationOf } from './termination.ts';
import { AGENT_LINE_BYTES_MAX } from './watch.ts';

/**
 * Judges an agent after Proctor died: by its stream, the model proxy's request count, and the work tree that the
 * launcher saved. The evidence lists everything else as unknown.
 */
export async function judgeInterrupted(left: AgentLeft): Promise<{
  readonly judgement: AgentJudgement;
  readonly unknown: RecoveredNote['unknown'];
}> {
  const { folder, plan, isStarted, capture, tree, because, files, events } = left;
  const reading = readAgain(folder, plan);
  const summary = plan.policy as PolicySummary;
  const breaches = tree?.breaches ?? [];
  const access = accessOf(left);
  const atDoor = doorViolations(access.told.refused, summary.effective);
  const seen = during({ reading, stoppedFor: undefined }, capture.networkAttempts, summary.effective);
  const violations = [...breaches, ...seen, ...atDoor];
  const head = tree?.changes.refs.find(({ name }) => name === 'HEAD')?.sha;
  const judgement: AgentJudgement = {
    ...endedAs(left, reading),
    // Without a final line, no message counts as the final one.
    finalText: reading.terminal ? reading.finalText : null,
    session: reading.session,
    model: reading.model,
    reported: reading.usage,
    lines: reading.lines,
    events,
    denials: reading.denialCount,
    modelAccess: access.told,
    policy: { ...summary, ...against(violations, notesOf(left)) },
    workspaceStatus:
      tree === undefined ? null : maskedStatus(workspaceStatusOf(plan.request.run_id, tree.changes, tree.notes), asIs),
    workspace: plan.workspace && { ...plan.workspace, ...(head && { head_sha: head }) },
    files,
    warnings: tree?.holdsSecret ? ['workspace.diff: contains a declared secret'] : [],
    remarks: [{ level: 'error', code: because.reason, detail: because.detail }],
  };
  const unknown: RecoveredNote['unknown'] = [];
  if (isStarted && !access.isKnown) unknown.push('requests');
  if (isStarted && tree === undefined) unknown.push('workspace');
  return { judgement, unknown };
}

/** The launcher already masked everything. `maskedStatus` still numbers names that masking made equal. */
const asIs = (text: string): string => text;

/** A timeout or a policy violation stands. Any other ending becomes an error. */
function endedAs(
  { plan, capture, tree, because }: AgentLeft,
  reading: AgentReading,
): Pick<AgentJudgement, 'termination' | 'reason' | 'detail' | 'apiStatus'> {
  const ended = terminationOf({
    ending: capture.ending,
    survivors: 0,
    stoppedFor: undefined,
    reading,
    approval: plan.invocation.approval,
    breaches: tree?.breaches ?? [],
    tooMuch: null,
    difference: null,
    lastAsk: null,
  });
  if (ended.termination !== 'completed' && ended.termination !== 'error') return ended;
  return { termination: 'error', reason: recoveredReason(because.reason), detail: because.message, apiStatus: null };
}

/** Reads the native stream again, without a torn last line. */
function readAgain(folder: string, plan: AgentPlan): AgentReading {
  const adapter = agentNamed(plan.asked.agent_family);
  if (!adapter) throw new Fault('odd_journal', 'The journal names an unknown agent.');
  const reader = adapter.reader({
    approval: plan.invocation.approval,
    maxTurns: undefined,
    isGuarded: guardOf((plan.policy as PolicySummary).effective),
  });
  const cutter = new LineCutter(AGENT_LINE_BYTES_MAX);
  const fd = openSync(path.join(folder, AGENT_FILES.stdout), 'r');
  try {
    for (;;) {
      // The cutter keeps a reference to the chunk.
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readChunk(fd, chunk);
      if (length === 0) break;
      cutter.take(chunk.subarray(0, length), line => void reader.line(line));
    }
  } finally {
    closeSync(fd);
  }
  return reader.end({ lastMessage: null });
}

const CHUNK_BYTES = 256 * 1024;

/** How many requests the agent sent to its model. An agent that had not started sent none. */
function accessOf({ folder, plan, isStarted }: AgentLeft): {
  readonly told: AgentOutcome['model_access'];
  readonly isKnown: boolean;
} {
  const { modelMode: mode, credential } = plan;
  const none = { requests: 0, failures: 0, difference: null };
  const counted = mode === 'none' || !isStarted ? none : doorCountIn(folder);
  const { difference, ...count } = counted ?? none;
  const { budget } = plan;
  return {
    told: {
      mode,
      ...count,
      recording_sha256: null,
      difference: mode === 'replay' ? difference : null,
      ...(budget && { budget }),
      ...(credential && { credential }),
    },
    isKnown: counted !== undefined,
  };
}

function notesOf({ isStarted, tree }: AgentLeft): string[] {
  if (!isStarted) return ['Proctor was interrupted before the agent started.'];
  if (!tree) return ['Proctor was interrupted, and the work tree is gone. Its changes are unknown.'];
  return [
    tree.breaches.length === 0
      ? 'Proctor was interrupted. The launcher examined the work tree after every process had ended and found no violations.'
      : 'Proctor was interrupted. The launcher examined the work tree after every process had ended. The violations are listed.',
    ...(tree.holdsSecret ? ['workspace.diff contains a secret.'] : []),
    ...tree.changes.notes,
  ];
}
