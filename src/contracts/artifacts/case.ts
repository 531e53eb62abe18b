import { type Contract, MIB } from '../contract.ts';
import { caseExample } from './case-examples.ts';
import { caseRules } from './case-rules.ts';
import { caseShape, claimsOf } from './case-shape.ts';
import { AA } from './invariants.ts';

export const caseArtifact: Contract = {
  name: 'case',
  title: 'Case of a suite',
  tells: 'What an agent answered to one case and how it got there, or why there is no answer.',
  source: 'Agent Artifact Contract v1, sections 4 to 6',
  version: { field: 'schema_version', value: 'case.v1' },
  shape: caseShape,
  rules: caseRules,
  unknownKeys: AA.schemaVersion.id,
  programText: [
    'workflow_id',
    'proposed_actions',
    'events',
    'final_output',
    'runner_failure.url',
    'runner_failure.status_text',
    'runner_failure.error_name',
    'runner_failure.error_message',
    'runner_failure.body_snippet',
    'agent_fields',
    'agent_run.violations',
    'agent_run.flags',
    'agent_run.changes',
  ],
  claims: claimsOf,
  beyond: [
    'whether the document was written in one step, so that no reader ever saw half of it',
    'whether the body in assets/ is the one that was received',
    'whether the events happened as the agent reports them',
    "whether the run that agent_run names is kept, and says the same, beyond the folder of the agent's runs",
    'whether an asset that is named by its asset_id exists, beyond the folder it lies in',
  ],
  bytesMax: 16 * MIB,
  example: caseExample,
};
