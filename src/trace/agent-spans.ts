import type { AgentUsage } from '../contracts/agent-step/reading.ts';
import { GEN_AI, OPERATION, OWN } from './names.ts';
import type { SpanAttributes, SpanKind } from './span.ts';
import { plainModel, plainName } from './tool-calls.ts';
import type { OpenSpan, Tracer } from './tracer.ts';
import type { SpanContext } from './traceparent.ts';

/** An agent, as far as its name is known. */
export interface TracedAgent {
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  readonly model?: string | undefined;
  /** `client`: the agent runs elsewhere. */
  readonly kind: SpanKind;
}

/** Begins the span of one run of an agent. */
export function beginAgent(tracer: Tracer, { name, version, model, kind }: TracedAgent, parent: SpanContext): OpenSpan {
  const agent = name === undefined ? undefined : plainName(name);
  return tracer.begin(agent === undefined ? OPERATION.invokeAgent : `${OPERATION.invokeAgent} ${agent}`, {
    kind,
    parent,
    attributes: {
      [GEN_AI.operation]: OPERATION.invokeAgent,
      [GEN_AI.agentName]: agent,
      [GEN_AI.agentVersion]: version === undefined ? undefined : plainName(version),
      [GEN_AI.provider]: agent === undefined ? undefined : PROVIDERS[agent],
      [GEN_AI.requestModel]: plainModel(model),
    },
  });
}

/** The agents that Proctor starts talk to one provider each. */
const PROVIDERS: Readonly<Record<string, string>> = { claude: 'anthropic', codex: 'openai' };

/** What the agent says it used. */
export function usageAttributes({
  turns,
  input_tokens,
  cached_input_tokens,
  output_tokens,
  cost_usd,
}: AgentUsage): SpanAttributes {
  return {
    [GEN_AI.inputTokens]: input_tokens,
    [GEN_AI.cachedInputTokens]: cached_input_tokens,
    [GEN_AI.outputTokens]: output_tokens,
    [OWN.turns]: turns,
    [OWN.costUsd]: cost_usd,
  };
}
