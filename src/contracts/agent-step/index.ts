export { stepEvent } from './event.ts';
export { metadata, type Metadata } from './metadata.ts';
export { agentOutcome, type AgentOutcome } from './outcome.ts';
export { policySummary, type PolicySummary, type PolicyViolation } from './policy-summary.ts';
export { agentRequest, type AgentRequest } from './request.ts';
export { agentResult, type AgentResult } from './result.ts';
export { runnerMetadata, type RunnerMetadata } from './runner-metadata.ts';
export { status, type Status } from './status.ts';
export { stepManifest, type StepManifest } from './step-manifest.ts';
