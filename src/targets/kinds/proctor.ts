import type { SuiteCase } from '../../contracts/suite/index.ts';
import type { SideName } from '../reply.ts';
import type { ApiKind } from './kind.ts';

/** Proctor's own protocol. The reply is the part of a case artifact that comes from the agent. */
export const proctorKind: ApiKind<'proctor'> = {
  request: () => ({
    method: 'POST',
    path: '/run-case',
    write: ({ input = { user: '' }, case: { id, metadata } = { id: '' }, side, run }) =>
      questionOf({ id, input, metadata: metadata as SuiteCase['metadata'] }, side as SideName, run?.id ?? ''),
  }),
  reply: () => undefined,
};

/** The request body for one case. */
export function questionOf(one: AskedCase, side: SideName, runId: string): string {
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

type AskedCase = Pick<SuiteCase, 'id' | 'input'> & { readonly metadata?: SuiteCase['metadata'] | undefined };
