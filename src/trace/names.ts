/**
 * Names from OpenTelemetry's semantic conventions 1.41.1. The GenAI part has the status "Development", so a later version
 * may rename them. Change them only here, together with the version.
 */
export const GEN_AI = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  agentVersion: 'gen_ai.agent.version',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  inputTokens: 'gen_ai.usage.input_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
} as const;

/** The values of `gen_ai.operation.name`, which also begin the names of spans. */
export const OPERATION = { invokeAgent: 'invoke_agent', executeTool: 'execute_tool' } as const;

/** The stable names. */
export const COMMON = {
  errorType: 'error.type',
  httpStatus: 'http.response.status_code',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  serviceName: 'service.name',
  serviceVersion: 'service.version',
} as const;

/** Proctor's own names. */
export const OWN = {
  runId: 'proctor.run.id',
  runKind: 'proctor.run.kind',
  side: 'proctor.side',
  targetKind: 'proctor.target.kind',
  caseId: 'proctor.case.id',
  attempt: 'proctor.attempt.number',
  worker: 'proctor.worker.name',
  agentRunId: 'proctor.agent.run.id',
  outcome: 'proctor.outcome',
  errorName: 'proctor.error.name',
  verdict: 'proctor.verdict',
  reason: 'proctor.reason',
  ending: 'proctor.ending',
  exitCode: 'proctor.exit_code',
  cases: 'proctor.cases.total',
  casesOk: 'proctor.cases.answered',
  casesFailed: 'proctor.cases.failed',
  casesPassed: 'proctor.cases.passed',
  files: 'proctor.output.files',
  turns: 'proctor.turns',
  costUsd: 'proctor.cost_usd',
  violations: 'proctor.violations',
  denials: 'proctor.denials',
  toolCalls: 'proctor.tool.calls',
  toolTiming: 'proctor.tool.timing',
  toolDurationMs: 'proctor.tool.duration_ms',
} as const;
