import type { AgentReading, Reason } from '../../contracts/agent-step/reading.ts';
import type { AgentOutcome, PolicyViolation } from '../../contracts/agent-step/index.ts';
import type { EffectivePolicy } from '../../contracts/agent-step/policy.ts';
import type { Ending } from '../../contracts/ending.ts';
import type { AskEnd } from '../../execute/gateway/ask.ts';
import type { StoppedFor } from './watch.ts';

/** The facts that decide how a step ended. */
export interface TerminationFacts {
  readonly ending: Ending;
  /** The number of processes that could not be killed. */
  readonly survivors: number;
  readonly stoppedFor: StoppedFor | undefined;
  readonly reading: AgentReading;
  readonly approval: EffectivePolicy['approval_posture'];
  /** Violations in the work tree. */
  readonly breaches: readonly PolicyViolation[];
  /** Why the changes exceed their limits; null if they do not. */
  readonly tooMuch: string | null;
  /** The first request that differs from the recording. */
  readonly difference: string | null;
  /** How the last model request ended, as the proxy saw it; null without a request or a proxy. */
  readonly lastAsk: AskEnd | null;
}

export type Terminated = Pick<AgentOutcome, 'termination' | 'reason' | 'detail'> & {
  readonly apiStatus: number | null;
};

/**
 * Decides the termination. In order of precedence: violations, Proctor, the kernel, the model proxy, the agent's claim.
 */
export function terminationOf(facts: TerminationFacts): Terminated {
  const { breaches, ending, survivors } = facts;
  const breach = breaches.find(({ hard }) => hard);
  if (breach) return ended('killed_policy', REASON_OF[breach.class], breach.message);
  if (survivors > 0) return ended('error', 'orphan_left', 'A process that the agent started could not be killed.');
  if (isDone(facts)) return exited(ending.how === 'exited' ? ending.code : 0, { ...facts, stoppedFor: undefined });
  if (ending.how === 'killed') return killed(ending.by, facts);
  if (ending.how === 'out_of_memory')
    return ended('error', 'out_of_memory', 'The agent and its tools exceeded their memory limit.');
  if (ending.how === 'not_started') return ended('error', 'spawn_failed', 'The agent could not be started.');
  if (ending.how === 'lost') return ended('error', 'interrupted', 'Proctor exited before the agent did.');
  if (ending.how === 'signalled') return ended('error', 'signal', `The agent was killed by ${ending.signal}.`);
  return exited(ending.code, facts);
}

/**
 * Whether the agent reported success before Proctor killed it or the processes that it left running. The success
 * stands.
 */
function isDone({ ending, stoppedFor, reading }: TerminationFacts): boolean {
  const isOurs = ending.how === 'exited' || (ending.how === 'killed' && ending.by === 'idle');
  return isOurs && stoppedFor?.hadFinished === true && reading.terminal?.ok === true;
}

const REASON_OF: Readonly<Record<PolicyViolation['class'], AgentOutcome['reason']>> = {
  forbidden_path: 'forbidden_path',
  forbidden_operation: 'forbidden_operation',
  protected_branch_violation: 'protected_branch',
  native_policy_block: 'denied_tool',
  interactive_prompt_violation: 'prompt_detected',
  network_violation: 'denied_tool',
};

function killed(by: (Ending & { how: 'killed' })['by'], facts: TerminationFacts): Terminated {
  const { stoppedFor, approval } = facts;
  if (by === 'timeout') return ended('killed_timeout', 'wall_clock', 'The agent exceeded its time limit.');
  if (by === 'cpu') return ended('killed_timeout', 'wall_clock', 'The agent exceeded its CPU time limit.');
  if (by === 'idle')
    return ended('killed_idle', 'stalled', stoppedFor?.detail ?? 'The agent made no progress for too long.');
  if (by === 'cancel' || !stoppedFor) return ended('error', 'cancelled', 'The run was cancelled.');
  const { reason, detail } = stoppedFor;
  if (reason === 'stalled') return ended('killed_idle', reason, detail);
  const isPolicy = reason === 'denied_tool' || (reason === 'prompt_detected' && approval === 'fail_on_prompt');
  return ended(isPolicy ? 'killed_policy' : 'error', reason, detail);
}

/** An agent that exited by itself. Its exit code alone says little. */
function exited(
  code: number,
  { reading, approval, tooMuch, difference, stoppedFor, lastAsk }: TerminationFacts,
): Terminated {
  const { terminal, failure, finalText, denialCount } = reading;
  if (difference !== null) return ended('error', 'protocol_error', difference);
  // The agent exited before our signal arrived.
  if (stoppedFor) return killed('policy', { stoppedFor, approval } as TerminationFacts);
  if (lastAsk && !isGood(lastAsk)) return unanswered(lastAsk, failure);
  if (failure) return { ...ended('error', failure.reason, failure.detail), apiStatus: statusOf(failure) };
  if (code !== 0) return ended('error', 'exit_nonzero', `The agent exited with code ${code}.`);
  if (!terminal) return ended('error', 'incomplete_stream', 'The agent exited without its final line.');
  if (!terminal.ok) return ended('error', 'protocol_error', 'The agent did not report success.');
  if (finalText === null || finalText.trim() === '')
    return ended('error', 'incomplete_stream', 'The agent exited without a final message.');
  if (denialCount > 0 && approval === 'fail_on_prompt')
    return ended(
      'killed_policy',
      'denied_tool',
      'A tool call was denied, and the policy stops the agent at the first denial.',
    );
  if (tooMuch !== null) return ended('error', 'limit_output', tooMuch);
  return { termination: 'completed', reason: 'ok', detail: null, apiStatus: null };
}

/** Agents can report any number as a status, and with any reason. */
function statusOf({ reason, status }: NonNullable<AgentReading['failure']>): number | null {
  const isOfApi = reason === 'api_error' || reason === 'auth_missing';
  const isHttp = status !== null && Number.isInteger(status) && status >= 100 && status <= 599;
  return isOfApi && isHttp ? status : null;
}

function isGood({ status, isWhole }: AskEnd): boolean {
  return isWhole && status !== null && status >= 200 && status < 300;
}

/**
 * The model did not answer the agent's last request. The exit code does not matter: some agents exit with 0. Nor does
 * the status that the agent reports, because the proxy sends one even if no model answered.
 */
function unanswered({ status, says }: AskEnd, failure: AgentReading['failure']): Terminated {
  // The agent stopped at one of its own limits, perhaps in the middle of an answer.
  if (failure && LIMITS.has(failure.reason)) return ended('error', failure.reason, failure.detail);
  const sentence =
    status !== null && status >= 400
      ? `The model API answered the last request with status ${status}.`
      : 'The model API did not complete its answer to the last request.';
  const detail = status === null || status < 300 ? (says ?? sentence) : (failure?.detail ?? sentence);
  const reason = status === 401 || status === 403 ? 'auth_missing' : 'api_error';
  return { ...ended('error', reason, detail), apiStatus: status !== null && status >= 400 ? status : null };
}

const LIMITS: ReadonlySet<Reason> = new Set<Reason>(['limit_turns', 'limit_budget', 'schema_missing']);

function ended(termination: AgentOutcome['termination'], reason: AgentOutcome['reason'], detail: string): Terminated {
  return { termination, reason, detail: /\S/.test(detail) ? detail : UNSAID, apiStatus: null };
}

/** Agents can report a failure with an empty message. */
const UNSAID = 'The agent did not say why.';
