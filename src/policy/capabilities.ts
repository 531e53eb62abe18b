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
  /** Who counts its turns: the agent by itself, or Proctor by what its stream tells while it runs. */
  readonly turn_limit: 'agent' | 'proctor' | false;
  readonly budget_limit: boolean;
}

/** Who could enforce something in a run. */
export interface Enforcers {
  /** What people call the agent. */
  readonly agent: string;
  readonly capabilities: Capabilities;
  readonly sandbox: 'none' | 'process';
  /** The agent brings a sandbox of its own, and it is off: what that would hold, the agent does not. */
  readonly isUnconfined?: boolean;
  /** Whether the user gave prices by which the door counts cost; `lacking` if not for the model of this run. */
  readonly prices?: 'given' | 'lacking';
}

type Counted = Pick<AgentLimits, 'maxTurns' | 'maxRequests' | 'maxTokens' | 'maxCostUsd'>;

/** A dimension, and who enforces it; or the sentence that says why nobody does. */
type Answer = { readonly by: readonly string[] } | { readonly nobody: string };

/**
 * Who enforces each dimension of a policy: the agent itself, the sandbox, or whoever looks at the work tree afterwards.
 * What nobody enforces is refused before anything starts, by the name of what is missing.
 */
export function enforcedBy(
  policy: EffectivePolicy,
  limits: Counted,
  enforcers: Enforcers,
): { readonly notes: readonly string[] } {
  const answers: readonly (readonly [string, Answer])[] = [
    ['execution_posture', execution(policy, enforcers)],
    ['network_posture', network(policy, enforcers)],
    ['approval_posture', approval(policy, enforcers)],
    ['allowed_paths', paths(policy, enforcers)],
    ['forbidden_operations', operations(policy, enforcers)],
    ['max_turns', turns(limits, enforcers)],
    ['max_requests', atDoor(limits.maxRequests)],
    ['max_tokens', atDoor(limits.maxTokens)],
    ['max_cost_usd', cost(limits, enforcers)],
  ];
  return {
    notes: answers.flatMap(([dimension, answer]) => {
      if ('nobody' in answer) throw new Fault('not_enforceable', answer.nobody);
      return answer.by.length > 0 ? [`${dimension}: ${answer.by.join('; ')}`] : [];
    }),
  };
}

function execution({ execution_posture }: EffectivePolicy, enforcers: Enforcers): Answer {
  const { agent, capabilities, sandbox, isUnconfined } = enforcers;
  if (execution_posture === 'read_only') {
    if (sandbox === 'none') return withoutSandbox('that the work tree is only read');
    const isHeldNatively = capabilities.read_only && !isUnconfined;
    return {
      by: ['the sandbox, in which the work tree is read-only', ...(isHeldNatively ? [`${agent} itself`] : [])],
    };
  }
  if (!capabilities.workspace_write) {
    return { nobody: `${agent} has no way to write to its work tree, which workspace_write asks for.` };
  }
  if (sandbox === 'none') return { by: ['nobody: without a sandbox, the agent can write wherever its user can'] };
  return { by: ['the sandbox, in which nothing but the work tree and a home of its own can be written'] };
}

function network({ network_posture }: EffectivePolicy, enforcers: Enforcers): Answer {
  const { agent, capabilities, sandbox, isUnconfined } = enforcers;
  if (network_posture === 'allow') return { by: ['nobody, as asked for: every address can be reached'] };
  if (sandbox === 'none') return withoutSandbox('that the network is closed');
  return {
    by: [
      'the sandbox, which has no network but a door to the API of the model',
      ...(capabilities.network_controls && !isUnconfined ? [`${agent} itself, for its tools`] : []),
    ],
  };
}

function approval({ approval_posture }: EffectivePolicy, enforcers: Enforcers): Answer {
  const { agent, capabilities, sandbox, isUnconfined } = enforcers;
  if (!capabilities.prompt_suppression) {
    return { nobody: `${agent} has no way to run without asking, which ${approval_posture} asks for.` };
  }
  if (approval_posture === 'bounded_auto_approve') {
    if (sandbox === 'none') return withoutSandbox('the bounds within which everything is approved');
    if (isUnconfined) return { by: [`the sandbox, which holds ${agent} to what it may do; ${agent} asks for nothing`] };
    return { by: [`${agent} itself, which does not ask for what the sandbox lets it do`] };
  }
  const denied = isUnconfined
    ? `the sandbox, which blocks what ${agent} may not do; ${agent} asks for nothing`
    : `${agent} itself, which is denied what it would ask for`;
  if (approval_posture === 'deny_interactive') return { by: [denied] };
  if (!capabilities.structured_event_stream) {
    return { nobody: `${agent} has no stream of events in which a denial is seen, which fail_on_prompt asks for.` };
  }
  return {
    by: [
      `${denied}, and proctor, which ${isUnconfined ? 'ends it at the first block that its stream shows' : 'then ends it'}`,
    ],
  };
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

function turns({ maxTurns }: Counted, { agent, capabilities }: Enforcers): Answer {
  if (maxTurns === undefined) return { by: [] };
  if (capabilities.turn_limit === 'agent') return { by: [`${agent} itself, at most ${maxTurns}`] };
  if (capabilities.turn_limit === 'proctor')
    return { by: [`proctor, which counts them in the stream of ${agent}, at most ${maxTurns}`] };
  return {
    nobody: `${agent} has no limit on turns and does not tell how many it took, so max_turns cannot be enforced.`,
  };
}

function atDoor(limit: number | undefined): Answer {
  return { by: limit === undefined ? [] : ['the door to the model, which counts and refuses every further request'] };
}

function cost({ maxCostUsd }: Counted, { agent, capabilities, prices }: Enforcers): Answer {
  if (maxCostUsd === undefined) return { by: [] };
  const itself = capabilities.budget_limit ? [`${agent} itself, by its own estimate`] : [];
  if (prices === 'given') return { by: ['the door to the model, by its count of tokens and your prices', ...itself] };
  if (prices === 'lacking')
    return { nobody: 'The price file has no price for the model of this run, so max_cost_usd cannot be enforced.' };
  if (itself.length > 0) return { by: [...itself, 'the door counts no cost, because it was given no prices'] };
  return {
    nobody: `${agent} has no limit on cost and does not tell what it costs, so max_cost_usd cannot be enforced without prices. Give a price file with --prices.`,
  };
}

function withoutSandbox(what: string): Answer {
  return { nobody: `Without a sandbox, nobody can enforce ${what}, which the policy asks for.` };
}
