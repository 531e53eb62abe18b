import { Fault } from '../base/fault.ts';
import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';
import type { AgentLimits } from './agent-limits.ts';

/** What an agent can enforce by itself, without a sandbox. */
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
  /** What limits the turns: the agent, Proctor (which counts them in the agent's event stream), or nothing. */
  readonly turn_limit: 'agent' | 'proctor' | false;
  readonly budget_limit: boolean;
}

/** What can enforce a policy in a run. */
export interface Enforcers {
  /** The display name of the agent. */
  readonly agent: string;
  readonly capabilities: Capabilities;
  readonly sandbox: 'none' | 'process';
  /** The agent has a built-in sandbox, but it is off. */
  readonly isUnconfined?: boolean;
  /** Whether there is a price file; `lacking` if it has no price for this run's model. */
  readonly prices?: 'given' | 'lacking';
}

type Counted = Pick<AgentLimits, 'maxTurns' | 'maxRequests' | 'maxTokens' | 'maxCostUsd'>;

/** How a dimension is enforced, or why it cannot be. */
type Answer = { readonly by: readonly string[] } | { readonly refusal: string };

/**
 * States how each dimension of a policy is enforced: by the agent, by the sandbox, or by a check of the work tree
 * afterwards. Throws before the run starts if a dimension cannot be enforced.
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
      if ('refusal' in answer) throw new Fault('not_enforceable', answer.refusal);
      return answer.by.length > 0 ? [`${dimension}: ${answer.by.join('; ')}`] : [];
    }),
  };
}

function execution({ execution_posture }: EffectivePolicy, enforcers: Enforcers): Answer {
  const { agent, capabilities, sandbox, isUnconfined } = enforcers;
  if (execution_posture === 'read_only') {
    if (sandbox === 'none') return withoutSandbox('a read-only work tree');
    const isHeldNatively = capabilities.read_only && !isUnconfined;
    return { by: [READ_ONLY_TREE, ...(isHeldNatively ? [`${agent} enforces it too`] : [])] };
  }
  if (!capabilities.workspace_write) {
    return { refusal: `${agent} cannot write to its work tree, which workspace_write requires.` };
  }
  if (sandbox === 'none') return { by: ['not enforced: without a sandbox, the agent can write wherever its user can'] };
  return { by: ['the sandbox allows writes only to the work tree and a private home'] };
}

function network({ network_posture }: EffectivePolicy, enforcers: Enforcers): Answer {
  const { agent, capabilities, sandbox, isUnconfined } = enforcers;
  if (network_posture === 'allow') return { by: ['not enforced: the policy allows every address'] };
  if (sandbox === 'none') return withoutSandbox('a closed network');
  return {
    by: [
      'the sandbox has no network except the model proxy',
      ...(capabilities.network_controls && !isUnconfined ? [`${agent} enforces it for its tools`] : []),
    ],
  };
}

function approval({ approval_posture }: EffectivePolicy, enforcers: Enforcers): Answer {
  const { agent, capabilities, sandbox, isUnconfined } = enforcers;
  if (!capabilities.prompt_suppression) {
    return { refusal: `${agent} cannot run without prompts, which ${approval_posture} requires.` };
  }
  if (approval_posture === 'bounded_auto_approve') {
    if (sandbox === 'none') return withoutSandbox('the limits of bounded_auto_approve');
    if (isUnconfined) return { by: [`the sandbox limits what ${agent} can do; ${agent} never asks`] };
    return { by: [`${agent} enforces it: it does not ask for what the sandbox allows`] };
  }
  const denied = isUnconfined
    ? `the sandbox blocks what ${agent} may not do; ${agent} never asks`
    : `${agent} enforces it: its prompts are denied`;
  if (approval_posture === 'deny_interactive') return { by: [denied] };
  if (!capabilities.structured_event_stream) {
    return { refusal: `${agent} has no event stream that shows denials, which fail_on_prompt requires.` };
  }
  return {
    by: [
      `${denied}; Proctor ends the run at the first ${isUnconfined ? 'blocked operation in its event stream' : 'denial'}`,
    ],
  };
}

function paths(policy: EffectivePolicy, { agent, capabilities, sandbox }: Enforcers): Answer {
  const { execution_posture, allowed_paths, forbidden_paths } = policy;
  const isWhole = allowed_paths.length === 1 && allowed_paths[0] === '.' && forbidden_paths.length === 0;
  if (isWhole || execution_posture === 'read_only') return { by: [] };
  if (sandbox === 'none') return withoutSandbox('path restrictions');
  return {
    by: [
      'Proctor checks the diff afterwards: a change to any other path is a violation',
      ...(capabilities.path_constraints ? [`${agent} enforces it for its editing tools`] : []),
    ],
  };
}

function operations(policy: EffectivePolicy, { sandbox }: Enforcers): Answer {
  const { execution_posture, network_posture, forbidden_operations } = policy;
  if (forbidden_operations.length === 0) return { by: [] };
  if (sandbox === 'none') return withoutSandbox(`a ban on ${forbidden_operations.join(', ')}`);
  const isPushForbidden = forbidden_operations.includes('push');
  if (isPushForbidden && network_posture === 'allow') {
    return {
      refusal:
        'The sandbox cannot distinguish a push from other connections. To forbid push, set network_posture to deny.',
    };
  }
  const others = forbidden_operations.filter(operation => operation !== 'push');
  const how = execution_posture === 'read_only' ? READ_ONLY_TREE : 'Proctor checks the repository afterwards';
  return {
    by: [
      ...(isPushForbidden ? ['the sandbox cannot reach a remote (push)'] : []),
      ...(others.length > 0 ? [`${how} (${others.join(', ')})`] : []),
    ],
  };
}

function turns({ maxTurns }: Counted, { agent, capabilities }: Enforcers): Answer {
  if (maxTurns === undefined) return { by: [] };
  if (capabilities.turn_limit === 'agent') return { by: [`${agent} enforces it, at most ${maxTurns}`] };
  if (capabilities.turn_limit === 'proctor')
    return { by: [`Proctor counts turns in ${agent}'s event stream, at most ${maxTurns}`] };
  return {
    refusal: `Cannot enforce max_turns: ${agent} neither limits nor reports its turns.`,
  };
}

function atDoor(limit: number | undefined): Answer {
  return { by: limit === undefined ? [] : ['the model proxy counts them and refuses requests beyond the limit'] };
}

function cost({ maxCostUsd }: Counted, { agent, capabilities, prices }: Enforcers): Answer {
  if (maxCostUsd === undefined) return { by: [] };
  const itself = capabilities.budget_limit ? [`${agent} enforces it by its own estimate`] : [];
  if (prices === 'given') return { by: ['the model proxy counts tokens and applies your prices', ...itself] };
  if (prices === 'lacking')
    return { refusal: "Cannot enforce max_cost_usd: the price file has no price for this run's model." };
  if (itself.length > 0)
    return { by: [...itself, 'the model proxy does not count cost, because there is no price file'] };
  return {
    refusal: `Cannot enforce max_cost_usd: ${agent} neither limits nor reports its cost. Pass a price file with --prices.`,
  };
}

const READ_ONLY_TREE = 'the sandbox makes the work tree read-only';

function withoutSandbox(what: string): Answer {
  return { refusal: `Proctor cannot enforce ${what} without a sandbox, but the policy requires it.` };
}
