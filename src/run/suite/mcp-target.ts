import { monotonicMs } from '../../base/clock.ts';
import { maskingOf } from '../../base/masker.ts';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import { CallError } from '../../targets/calls.ts';
import type { TemplateValues } from '../../targets/mapping/template-names.ts';
import type { ToolCall } from '../../targets/tool-call.ts';
import { type DeclaredApi, notSent } from './declared-target.ts';
import { questionValues } from './question-values.ts';
import { judgedAnswer, roundedMs } from './http-target.ts';
import type { McpChannel } from './mcp-channel.ts';
import { McpSession } from './mcp-session.ts';
import type { AttemptResult, CaseQuestion, Target } from './target.ts';
import { traceHeaders } from './trace-headers.ts';

export interface McpApi extends Omit<DeclaredApi, 'calls' | 'stream'> {
  readonly call: ToolCall;
  readonly channel: McpChannel & {
    close(): Promise<void>;
    evidence?(): Promise<readonly Asset[]>;
  };
}

/** Asks an MCP server: every attempt is one call of a tool. */
export function mcpTarget(api: McpApi): Target {
  const { call, channel, settings } = api;
  const fixed: TemplateValues = {
    env: api.variable,
    side: api.side,
    run: { id: api.runId },
    ...(api.port !== undefined && { port: api.port }),
  };
  const session = new McpSession(channel);
  const masking = maskingOf(api.secrets, api.keepCredentials);
  const attempt = async ({ one, key, trace }: CaseQuestion, startedMs: number): Promise<AttemptResult> => {
    const values = { ...fixed, ...questionValues(one, key) };
    const declared = call.server.over === 'http' ? call.server.headers(values) : {};
    const told = await session.call({
      tool: call.tool,
      arguments: call.arguments(values),
      headers: { ...declared, ...traceHeaders(trace, declared), 'idempotency-key': key },
      untilMs: startedMs + settings.timeoutMs,
    });
    if ('failed' in told) return failed(told.failed, startedMs);
    const { answer, failure } = told.answer;
    const outcome = judgedAnswer({ answer, failure }, one.id, api, masking);
    const { status } = answer;
    return { latencyMs: roundedMs(answer.latencyMs), outcome, ...(status !== undefined && { httpStatus: status }) };
  };
  return {
    async ask(question: CaseQuestion): Promise<AttemptResult> {
      const startedMs = monotonicMs();
      try {
        return await attempt(question, startedMs);
      } catch (error) {
        if (error instanceof CallError) return failed(notSent(error.message), startedMs);
        throw error;
      }
    },
    cancel: () => channel.cancel(),
    ...(channel.evidence && { evidence: () => channel.evidence?.() ?? Promise.resolve([]) }),
    async close(): Promise<void> {
      await session.leave().catch(() => undefined);
      await channel.close();
    },
  };
}

function failed(outcome: AttemptResult['outcome'], startedMs: number): AttemptResult {
  return { latencyMs: roundedMs(monotonicMs() - startedMs), outcome };
}
