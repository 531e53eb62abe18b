export {
  type AgentRunNote,
  agentRunExample,
  CASE_CHANGED_LISTED_MAX,
  checkInCase,
  type CheckInCase,
  VIOLATIONS_LISTED_MAX,
} from './agent-run.ts';
export { assetsManifest } from './assets-manifest.ts';
export { caseArtifact } from './case.ts';
export { caseFailureExample } from './case-examples.ts';
export { type CaseArtifact, caseShape } from './case-shape.ts';
export { type Event, eventsOf } from './events.ts';
export { failureMeta } from './failure-meta.ts';
export { type RunArtifact, runArtifact } from './run.ts';
