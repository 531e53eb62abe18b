import type { AgentOutcome, PolicyViolation } from '../../contracts/agent-step/index.ts';
import type { ReviewedPath } from '../../contracts/agent-step/changes.ts';
import type { EffectivePolicy } from '../../contracts/agent-step/policy.ts';
import type { AgentFiles, AgentJudgement } from '../../evidence/agent/agent-run.ts';
import { flagWarnings } from '../../evidence/ingest/flags.ts';
import { policySummaryOf } from '../../evidence/agent/policy-summary.ts';
import { workspaceStatusOf } from '../../evidence/agent/workspace-status.ts';
import { doorViolations } from '../../policy/door-violations.ts';
import { violationsDuring } from '../../policy/run-violations.ts';
import type { StartedRun } from '../pipeline/journaled-run.ts';
import type { AgentTypes } from './agent.ts';
import { maskedStatus, maskedViolation, maskOf } from './masked.ts';
import { contextOf } from './plan.ts';
import { terminationOf } from './termination.ts';
import type { WatchedStream } from './watch.ts';
import type { After } from './workspace-after.ts';

/** What Proctor knows about an agent that has ended. */
interface Known {
  readonly run: StartedRun<AgentTypes>;
  readonly seen: AgentTypes['seen'];
  readonly after: After;
  readonly access: AgentOutcome['model_access'];
  readonly files: AgentFiles;
}

/** Decides how the agent ended and why, and collects violations during the run and in the work tree. */
export function judged({ run, seen, after, access, files }: Known): {
  readonly judgement: AgentJudgement;
  readonly violations: readonly PolicyViolation[];
  readonly needsReview: readonly ReviewedPath[];
} {
  const { made, plan } = run;
  const { ready } = made;
  const { capture, reading, stoppedFor } = seen;
  const mask = maskOf(ready, made.door);
  const { breaches, seenDuring, atDoor } = violationsIn({ run, seen, after, access }, mask);
  const ended = terminationOf({
    ending: capture.ending,
    survivors: capture.survivors ?? 0,
    stoppedFor,
    reading,
    approval: ready.bound.effective.approval_posture,
    breaches: [...breaches, ...seenDuring.filter(({ source }) => source === 'sandbox'), ...atDoor],
    tooMuch: after.tooMuch,
    difference: access.difference,
    lastAsk: made.door?.stats().lastAsk ?? null,
  });
  const violations = [...breaches, ...seenDuring, ...atDoor];
  const status = workspaceStatusOf(plan.request.run_id, after.changes, made.clone.notes);
  const workspaceStatus = maskedStatus(status, mask);
  const judgement: AgentJudgement = {
    termination: ended.termination,
    reason: ended.reason,
    detail: ended.detail && mask(ended.detail),
    apiStatus: ended.apiStatus,
    finalText: reading.finalText && mask(reading.finalText),
    session: reading.session && mask(reading.session),
    // If the agent does not report its model, use the requested one.
    model: mask(reading.model ?? ready.order.model ?? '') || null,
    reported: reading.usage,
    lines: reading.lines,
    events: seen.events,
    denials: reading.denialCount,
    modelAccess: access,
    policy: policyAfter(run, violations, [
      breaches.length === 0
        ? 'Proctor examined the work tree after every process had ended and found no violations.'
        : 'Proctor examined the work tree after every process had ended. The violations are listed.',
      ...after.changes.notes.map(mask),
    ]),
    workspaceStatus,
    workspace: contextOf(made.clone, mask, after.changes.refs.find(({ name }) => name === 'HEAD')?.sha ?? undefined),
    files,
    warnings: flagWarnings(after.flagged),
    masking: {
      credentials: ready.order.keepCredentials ? 'kept' : 'masked',
      kinds: {},
      flagged: after.flagged.map(flag => ({ ...flag, path: mask(flag.path) })),
    },
    remarks: remarksOf(run, seen),
  };
  return { judgement, violations, needsReview: workspaceStatus.needs_review?.listed ?? [] };
}

/** The violations in the work tree, during the run, and at the model proxy. */
function violationsIn({ run, seen, after, access }: Omit<Known, 'files'>, mask: (text: string) => string) {
  const { program, bound } = run.made.ready;
  const { networkAttempts } = seen.capture;
  // The agent's own sandbox may block attempts before the kernel counts them, so a count of 0 proves nothing.
  const counted = program.nestedSandbox ? networkAttempts || undefined : networkAttempts;
  const masked = (violation: PolicyViolation): PolicyViolation => maskedViolation(violation, mask);
  return {
    breaches: after.breaches.map(masked),
    seenDuring: during(seen, counted, bound.effective).map(masked),
    atDoor: doorViolations(access.refused, bound.effective),
  };
}

/** The policy summary, with the findings during and after the run. */
function policyAfter(
  { made: { ready, door, invocation, guarded }, plan }: StartedRun<AgentTypes>,
  violations: readonly PolicyViolation[],
  enforcementNotes: readonly string[],
): AgentJudgement['policy'] {
  const { summary } = ready.bound;
  const capabilityNotes = [...summary.capabilityNotes, ...invocation.notes, ...guarded.notes.map(maskOf(ready, door))];
  return policySummaryOf({ ...summary, capabilityNotes, observed: plan.observed, violations, enforcementNotes });
}

/** Denied tool calls, questions to the user, and network attempts. */
export function during(
  { reading, stoppedFor }: Pick<WatchedStream, 'reading' | 'stoppedFor'>,
  networkAttempts: number | undefined,
  effective: EffectivePolicy,
): PolicyViolation[] {
  const question =
    stoppedFor?.reason === 'prompt_detected' ? { message: stoppedFor.detail, source: stoppedFor.source } : undefined;
  return violationsDuring({ denials: reading.denials, question, networkAttempts }, effective);
}

function remarksOf({ made }: StartedRun<AgentTypes>, { reading }: WatchedStream): AgentJudgement['remarks'] {
  const problem = made.door?.stats().problem;
  return [
    ...(problem === undefined ? [] : [{ level: 'warning' as const, code: 'model_api', detail: problem }]),
    ...(reading.lines.broken > 0
      ? [
          {
            level: 'note' as const,
            code: 'broken_lines',
            detail: `${reading.lines.broken} lines of its stream are not JSON.`,
          },
        ]
      : []),
  ];
}
