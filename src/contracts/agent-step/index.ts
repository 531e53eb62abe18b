export { event } from './event.ts';
export { metadata } from './metadata.ts';
export { agentOutcome, type AgentOutcome } from './outcome.ts';
export { policySummary, type PolicySummary, type Violation } from './policy-summary.ts';
export { agentRequest } from './request.ts';
export { agentResult } from './result.ts';
export { runnerMetadata } from './runner-metadata.ts';
export { status } from './status.ts';
export { stepManifest } from './step-manifest.ts';
