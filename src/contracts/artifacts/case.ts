import { type Contract, MIB } from '../contract.ts';
import { caseExample } from './case-examples.ts';
import { caseRules } from './case-rules.ts';
import { caseShape, claimsOf } from './case-shape.ts';
import { AA } from './invariants.ts';

export const caseArtifact: Contract = {
  name: 'case',
  title: 'Case of a suite',
  tells: "An agent's answer to one case and its events, or why there is no answer.",
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
    'attempts[].note',
    'runner_failure.url',
    'runner_failure.status_text',
    'runner_failure.error_name',
    'runner_failure.error_message',
    'runner_failure.body_snippet',
    'agent_fields',
    'agent_run.violations',
    'agent_run.flags',
    'agent_run.changes',
    'agent_run.checks',
  ],
  claims: claimsOf,
  beyond: [
    'whether the document was written atomically',
    'whether the body in assets/ is the one that was received',
    'whether the events happened as the agent reports them',
    "whether the run in agent_run exists and agrees, unless the folder of the agent's runs is verified as well",
    'whether an asset named by its asset_id exists, unless the folder is verified as well',
  ],
  bytesMax: 16 * MIB,
  example: caseExample,
};
