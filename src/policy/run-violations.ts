import { unsafePath } from '../base/path.ts';
import type { Denial } from '../contracts/agent-step/reading.ts';
import { inside, plainPath } from '../contracts/agent-step/paths.ts';
import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';
import type { PolicyViolation } from '../contracts/agent-step/policy-summary.ts';
import { HELD_BY } from './held-operations.ts';

/** What Proctor observed during a run. */
export interface RunFacts {
  readonly denials: readonly Denial[];
  /** A question to the user that ended the run. */
  readonly question: Pick<PolicyViolation, 'message' | 'source'> | undefined;
  /** Network attempts in the sandbox, as counted by the kernel. Undefined if unknown. */
  readonly networkAttempts: number | undefined;
}

/** The same act has the same class for every agent. A hard violation ends the run or prevents its completion. */
export function violationsDuring(
  { denials, question, networkAttempts }: RunFacts,
  policy: EffectivePolicy,
): PolicyViolation[] {
  const hard = policy.approval_posture === 'fail_on_prompt';
  const isClosed = policy.network_posture === 'deny';
  const isForbidden = inside(policy.forbidden_paths);
  // If the kernel counts attempts, ignore denials that only appear in output, unless they ended the run.
  const isTalk = ({ isNetwork, fromOutput }: Denial): boolean =>
    isNetwork && fromOutput === true && isClosed && networkAttempts !== undefined && !hard;
  const denied = denials
    .filter(denial => denial.isQuestion === undefined && !isTalk(denial))
    .map(({ tool, reason, path, isNetwork, fromOutput }): PolicyViolation => {
      const message = fromOutput ? `${tool} was blocked: ${reason}` : `${tool} was denied: ${reason}`;
      // A document cannot contain a lone surrogate.
      const inTree = path === null ? undefined : treePath(path.toWellFormed());
      const held = inTree === undefined ? undefined : heldOperation(inTree, policy);
      if (held !== undefined) return { class: 'forbidden_operation', message, operation: held, hard, source: 'agent' };
      if (inTree !== undefined && isForbidden(inTree))
        return { class: 'forbidden_path', message, path: inTree, operation: tool, hard, source: 'agent' };
      const kind = isNetwork && isClosed ? 'network_violation' : 'native_policy_block';
      return { class: kind, message, operation: tool, hard, source: 'agent' };
    });
  return [...asked(denials, question), ...denied, ...reached(networkAttempts ?? 0, hard)];
}

/** The forbidden operation that needs this git file. */
function heldOperation(path: string, { forbidden_operations }: EffectivePolicy): string | undefined {
  return forbidden_operations.find(operation => inside(HELD_BY[operation] ?? [])(path));
}

function asked(denials: readonly Denial[], question: RunFacts['question']): PolicyViolation[] {
  const tool = denials.find(({ isQuestion }) => isQuestion)?.tool;
  if (question === undefined && tool === undefined) return [];
  const { message, source = 'agent' } = question ?? {
    message: 'The agent asked the user, but the run is unattended.',
  };
  return [{ class: 'interactive_prompt_violation', message, ...(tool && { operation: tool }), hard: true, source }];
}

function reached(attempts: number, hard: boolean): PolicyViolation[] {
  if (attempts === 0) return [];
  const times = attempts === 1 ? 'once' : `${attempts} times`;
  const message = `A process in the sandbox tried to reach the network ${times}, but there was no route.`;
  return [{ class: 'network_violation', message, hard, source: 'sandbox' }];
}

/** A path relative to the agent's work tree; undefined if it is, or may be, elsewhere. */
function treePath(path: string): string | undefined {
  const below = path.startsWith(WORK) ? path.slice(WORK.length) : path;
  return unsafePath(below) === undefined ? plainPath(below) : undefined;
}

/** The work tree inside the sandbox. */
const WORK = '/work/';

/** Returns a function that checks whether a path, as named by the agent, is one that it must not write to. */
export function guardOf(policy: EffectivePolicy): (path: string) => boolean {
  const isForbidden = inside(policy.forbidden_paths);
  const isReadOnly = policy.execution_posture === 'read_only';
  return path => {
    const inTree = treePath(path);
    if (inTree !== undefined) return isReadOnly || isForbidden(inTree);
    return path.startsWith('/') && !WRITABLE.some(folder => path.startsWith(folder));
  };
}

/** The writable folders besides the work tree. */
const WRITABLE = ['/agent/home/', '/tmp/', '/dev/'];
