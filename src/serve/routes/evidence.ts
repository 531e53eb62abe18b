import { evidenceViewShape } from '../../verbs/evidence/evidence-view.ts';
import { route } from '../http/route.ts';
import { readableRunAt, runParams } from './run-at.ts';

export const runEvidenceRoute = route({
  name: 'runEvidence',
  method: 'GET',
  path: '/v1/runs/{run_id}/evidence',
  role: 'viewer',
  why: 'Verifies a run like proctor verify, and gives its seal, signature, ledger line and expired files.',
  params: runParams,
  gives: evidenceViewShape,
  act: ({ params }, { server }) => server.evidence.of(readableRunAt(params.run_id, server)),
});
