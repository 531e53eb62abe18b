import type { SuiteCase } from '../../contracts/suite/index.ts';
import type { SideName } from '../reply.ts';

/** The request body for one case. */
export function questionOf(one: SuiteCase, side: SideName, runId: string): string {
  const { run_meta, runMeta, handoff, policy, runtime_policy } = one.metadata ?? {};
  const parent = ((run_meta ?? runMeta ?? {}) as { parent_run_id?: unknown }).parent_run_id;
  return JSON.stringify({
    case_id: one.id,
    version: side,
    input: one.input,
    run_meta: { run_id: runId, incident_id: runId, ...(parent !== undefined && { parent_run_id: parent }) },
    ...(handoff !== undefined && { handoff }),
    ...((policy ?? runtime_policy) !== undefined && { policy: policy ?? runtime_policy }),
  });
}
