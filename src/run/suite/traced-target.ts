import { Fault } from '../../base/fault.ts';
import type { AgentUsage } from '../../contracts/agent-step/reading.ts';
import { kindName, type SuiteTarget } from '../../contracts/suite/index.ts';
import { beginAgent, type TracedAgent, usageAttributes } from '../../trace/agent-spans.ts';
import { COMMON, OWN } from '../../trace/names.ts';
import type { SpanAttributes } from '../../trace/span.ts';
import { addToolSpans, ToolCallList } from '../../trace/tool-calls.ts';
import type { OpenSpan, Tracer } from '../../trace/tracer.ts';
import { type SpanContext, spanContextIn } from '../../trace/traceparent.ts';
import type { Answered, AttemptResult, CaseQuestion, Target } from './target.ts';

export interface AttemptTracing {
  readonly tracer: Tracer;
  /** `proctor.work`: a worker makes the attempt of another process. */
  readonly span: 'proctor.attempt' | 'proctor.work';
  readonly runId: string;
  readonly target: SuiteTarget;
  /** The span of the run. The trace of a question comes first. */
  readonly parent?: SpanContext;
  /** The worker that makes the attempts, if it is this process. */
  readonly worker?: string;
}

/** Makes spans for every attempt, and passes the trace on to the target. The answers stay as they are. */
export function tracedTarget(target: Target, tracing: AttemptTracing): Target {
  return {
    ask: question => ask(target, question, tracing),
    cancel: () => target.cancel(),
    ...(target.evidence && { evidence: async () => (await target.evidence?.()) ?? [] }),
    close: () => target.close(),
    ...(target.isQueued && { isQueued: true }),
  };
}

async function ask(target: Target, question: CaseQuestion, tracing: AttemptTracing): Promise<AttemptResult> {
  const { tracer, runId, worker } = tracing;
  const attempt = tracer.begin(tracing.span, {
    parent: spanContextIn(question.trace) ?? tracing.parent,
    attributes: {
      [OWN.runId]: runId,
      [OWN.caseId]: question.one.id,
      [OWN.attempt]: question.attempt,
      [OWN.targetKind]: kindName(tracing.target),
      [OWN.worker]: worker,
    },
  });
  // A worker makes the span of the agent, because it sees when the agent answers.
  const agent = target.isQueued ? undefined : beginAgent(tracer, agentOf(tracing.target), attempt.context);
  agent?.set(serverOf(tracing.target));
  try {
    const result = await target.ask({ ...question, trace: (agent ?? attempt).traceparent });
    end(result, attempt, agent, tracer);
    return result;
  } catch (error) {
    const errorType = error instanceof Fault ? error.code : 'bug';
    agent?.end({ errorType });
    attempt.end({ errorType });
    throw error;
  }
}

function end(result: AttemptResult, attempt: OpenSpan, agent: OpenSpan | undefined, tracer: Tracer): void {
  const { outcome, httpStatus, worker, runId, agentRun, ran } = result;
  const errorType = outcome.ok ? undefined : outcome.cancelled ? 'cancelled' : outcome.class;
  const failure: SpanAttributes = outcome.ok ? {} : { [OWN.errorName]: outcome.errorName };
  attempt.set({ [OWN.outcome]: outcome.ok ? 'ok' : 'runner_error', [OWN.worker]: worker, ...failure });
  if (agent) {
    if (ran) agent.startAt(ran.startedAtMs);
    if (ran && outcome.ok) agent.set(usageOf(outcome));
    agent.set({ [COMMON.httpStatus]: httpStatus, [OWN.agentRunId]: runId, [OWN.reason]: agentRun?.reason });
    if (outcome.ok) {
      const calls = new ToolCallList();
      for (const event of outcome.reply.events) calls.takeEvent(event);
      addToolSpans(tracer, agent, calls, ran?.startedAtMs ?? originOf(calls, agent));
    }
    agent.end({ errorType, ...(ran && { endMs: ran.startedAtMs + ran.durationMs }) });
  }
  attempt.end({ errorType });
}

/** Proctor itself adds the usage to the reply of an agent that it ran. */
function usageOf({ reply }: Answered): SpanAttributes {
  const { usage } = (reply.agent_fields ?? {}) as { readonly usage?: AgentUsage };
  return usage ? usageAttributes(usage) : {};
}

/** Events have usable times only if they are milliseconds since 1970, near the attempt. Others may count or be filled in. */
function originOf({ calls }: ToolCallList, agent: OpenSpan): number | undefined {
  const [fromMs, toMs] = [agent.startMs - CLOCK_SKEW_MS, agent.nowMs() + CLOCK_SKEW_MS];
  const isNear = (ms: number): boolean => ms >= fromMs && ms <= toMs;
  return calls.every(({ startMs, endMs }) => isNear(startMs) && isNear(endMs ?? startMs)) ? 0 : undefined;
}

const CLOCK_SKEW_MS = 60_000;

function agentOf(target: SuiteTarget): TracedAgent {
  if (target.kind === 'agent') {
    const { name, version, model } = target;
    return { name, version, model, kind: 'internal' };
  }
  const isElsewhere = Object.keys(serverOf(target)).length > 0;
  return { kind: isElsewhere ? 'client' : 'internal', ...('name' in target && { name: target.name }) };
}

/** The host of the URL. Its path and query may identify a customer. */
function serverOf(target: SuiteTarget): SpanAttributes {
  const url =
    target.kind === 'http'
      ? target.url
      : target.kind === 'declared' && 'url' in target.declaration
        ? target.declaration.url
        : undefined;
  if (url === undefined || !URL.canParse(url)) return {};
  const { hostname, port } = new URL(url);
  return { [COMMON.serverAddress]: hostname, [COMMON.serverPort]: port === '' ? undefined : Number(port) };
}
