import { Fault } from '../base/fault.ts';
import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';
import type { AgentLimits } from './agent-limits.ts';

/** What an agent's program can hold itself to, whatever is around it. */
export interface Capabilities {
  readonly workspace_write: boolean;
  readonly read_only: boolean;
  readonly structured_event_stream: boolean;
  readonly final_response_file: boolean;
  readonly native_approval_controls: boolean;
  readonly prompt_suppression: boolean;
  readonly tool_allow_deny: boolean;
  readonly path_constraints: boolean;
  readonly network_controls: boolean;
  readonly turn_limit: boolean;
  readonly budget_limit: boolean;
}

/** Who could enforce something in a run. */
export interface Enforcers {
  /** What people call the agent. */
  readonly agent: string;
  readonly capabilities: Capabilities;
  readonly sandbox: 'none' | 'process';
  /** Whether the agent's stream says, while it runs, how many turns it took and what it cost. */
  readonly counts: { readonly turns: boolean; readonly cost: boolean };
}

/** A dimension, and who enforces it; or the sentence that says why nobody does. */
type Answer = { readonly by: readonly string[] } | { readonly nobody: string };

/**
 * Who enforces each dimension of a policy: the agent itself, the sandbox, or whoever looks at the work tree afterwards.
 * What nobody enforces is refused before anything starts, by the name of what is missing.
 */
export function enforcedBy(
  policy: EffectivePolicy,
  limits: Pick<AgentLimits, 'maxTurns' | 'maxCostUsd'>,
  enforcers: Enforcers,
): { readonly notes: readonly string[] } {
  const answers: readonly (readonly [string, Answer])[] = [
    ['execution_posture', execution(policy, enforcers)],
    ['network_posture', network(policy, enforcers)],
    ['approval_posture', approval(policy, enforcers)],
    ['allowed_paths', paths(policy, enforcers)],
    ['forbidden_operations', operations(policy, enforcers)],
    ['max_turns', turns(limits, enforcers)],
    ['max_cost_usd', cost(limits, enforcers)],
  ];
  return {
    notes: answers.flatMap(([dimension, answer]) => {
      if ('nobody' in answer) throw new Fault('not_enforceable', answer.nobody);
      return answer.by.length > 0 ? [`${dimension}: ${answer.by.join('; ')}`] : [];
    }),
  };
}

function execution({ execution_posture }: EffectivePolicy, { agent, capabilities, sandbox }: Enforcers): Answer {
  if (execution_posture === 'read_only') {
    if (sandbox === 'none') return withoutSandbox('that the work tree is only read');
    return {
      by: ['the sandbox, in which the work tree is read-only', ...(capabilities.read_only ? [`${agent} itself`] : [])],
    };
  }
  if (!capabilities.workspace_write) {
    return { nobody: `${agent} has no way to write to its work tree, which workspace_write asks for.` };
  }
  if (sandbox === 'none') return { by: ['nobody: without a sandbox, the agent can write wherever its user can'] };
  return { by: ['the sandbox, in which nothing but the work tree and a home of its own can be written'] };
}

function network({ network_posture }: EffectivePolicy, { agent, capabilities, sandbox }: Enforcers): Answer {
  if (network_posture === 'allow') return { by: ['nobody, as asked for: every address can be reached'] };
  if (sandbox === 'none') return withoutSandbox('that the network is closed');
  return {
    by: [
      'the sandbox, which has no network but a door to the API of the model',
      ...(capabilities.network_controls ? [`${agent} itself, for its tools`] : []),
    ],
  };
}

function approval({ approval_posture }: EffectivePolicy, { agent, capabilities }: Enforcers): Answer {
  const { native_approval_controls, prompt_suppression, structured_event_stream } = capabilities;
  if (approval_posture === 'bounded_auto_approve') {
    if (native_approval_controls) return { by: [`${agent} itself, which approves what its sandbox can hold`] };
    return { nobody: `${agent} has no approval controls of its own, which bounded_auto_approve asks for.` };
  }
  if (!prompt_suppression) {
    return { nobody: `${agent} has no way to run without asking, which ${approval_posture} asks for.` };
  }
  if (approval_posture === 'deny_interactive') return { by: [`${agent} itself, which denies instead of asking`] };
  if (!structured_event_stream) {
    return { nobody: `${agent} has no stream of events in which a denial is seen, which fail_on_prompt asks for.` };
  }
  return { by: [`${agent} itself, which denies instead of asking, and its runner, which ends it at the first denial`] };
}

function paths(policy: EffectivePolicy, { agent, capabilities, sandbox }: Enforcers): Answer {
  const { execution_posture, allowed_paths, forbidden_paths } = policy;
  const isWhole = allowed_paths.length === 1 && allowed_paths[0] === '.' && forbidden_paths.length === 0;
  if (isWhole || execution_posture === 'read_only') return { by: [] };
  if (sandbox === 'none') return withoutSandbox('which paths are changed');
  return {
    by: [
      'the diff of the work tree afterwards, in which any other path is a violation',
      ...(capabilities.path_constraints ? [`${agent} itself, for its tools that edit`] : []),
    ],
  };
}

function operations(policy: EffectivePolicy, { sandbox }: Enforcers): Answer {
  const { execution_posture, network_posture, forbidden_operations } = policy;
  if (forbidden_operations.length === 0) return { by: [] };
  if (sandbox === 'none') return withoutSandbox(`that an agent does not ${forbidden_operations.join(', ')}`);
  const isPushForbidden = forbidden_operations.includes('push');
  if (isPushForbidden && network_posture === 'allow') {
    return {
      nobody:
        'The sandbox has no way to tell a push from another connection, so that push can be forbidden only where network_posture is deny.',
    };
  }
  const others = forbidden_operations.filter(operation => operation !== 'push');
  const looked =
    execution_posture === 'read_only'
      ? 'the sandbox, in which the work tree is read-only'
      : 'the state of the repository afterwards';
  return {
    by: [
      ...(isPushForbidden ? ['push by the sandbox, from which no remote can be reached'] : []),
      ...(others.length > 0 ? [`${others.join(', ')} by ${looked}`] : []),
    ],
  };
}

function turns({ maxTurns }: Pick<AgentLimits, 'maxTurns'>, { agent, capabilities, counts }: Enforcers): Answer {
  if (maxTurns === undefined) return { by: [] };
  if (!capabilities.turn_limit && !counts.turns) {
    return {
      nobody: `${agent} has no limit on turns, and does not tell how many it took: max_turns cannot be enforced.`,
    };
  }
  return counted(agent, capabilities.turn_limit, counts.turns);
}

function cost({ maxCostUsd }: Pick<AgentLimits, 'maxCostUsd'>, { agent, capabilities, counts }: Enforcers): Answer {
  if (maxCostUsd === undefined) return { by: [] };
  if (!capabilities.budget_limit && !counts.cost) {
    return {
      nobody: `${agent} has no limit on cost, and does not tell what it costs: max_cost_usd cannot be enforced.`,
    };
  }
  return counted(agent, capabilities.budget_limit, counts.cost);
}

function counted(agent: string, isNative: boolean, isCounted: boolean): Answer {
  return { by: [...(isNative ? [`${agent} itself`] : []), ...(isCounted ? ['its runner, which counts'] : [])] };
}

function withoutSandbox(what: string): Answer {
  return { nobody: `Without a sandbox, nobody can enforce ${what}, which the policy asks for.` };
}
