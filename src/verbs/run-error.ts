import { canonicalize } from '../base/canonical.ts';
import { Fault } from '../base/fault.ts';
import { hostPathIn } from '../base/path.ts';
import { holdsSecret, redact } from '../base/redact.ts';
import type { RunError } from '../contracts/run-error/index.ts';

/** An error as a run error document. Anything but a fault is an internal error. */
export function runErrorOf(error: unknown): RunError {
  if (!(error instanceof Fault)) return { code: 'RUN_E007', message: 'Proctor hit an internal error.' };
  const { ruleId, details } = error as Fault & { ruleId?: string; details?: Record<string, unknown> };
  const message = redact(error.message).text;
  return {
    code: CODES[error.code] ?? 'RUN_E007',
    message: hostPathIn(message)
      ? 'The run failed. The reason names a path on this machine, so it is not shown.'
      : message,
    ...(ruleId !== undefined && /^[A-Z]{2}\d{1,3}$/.test(ruleId) && { rule_id: ruleId }),
    details: { ...(details && isPublic(details) && details), reason: error.code },
  };
}

/** Details can quote input, so they must not contain secrets or host paths. */
function isPublic(details: object): boolean {
  const text = canonicalize(details);
  return !hostPathIn(text) && !holdsSecret(text);
}

const CODES: Readonly<Record<string, RunError['code']>> = {
  intent_unreadable: 'RUN_E001',
  intent_syntax: 'RUN_E002',
  intent_invalid: 'RUN_E003',
  bad_profile: 'RUN_E004',
  model_mode_refused: 'RUN_E004',
  no_sandbox: 'RUN_E005',
  sandbox_unavailable: 'RUN_E005',
  sandbox_leaks: 'RUN_E005',
  sandbox_lost: 'RUN_E005',
  not_enforceable: 'RUN_E005',
  canary_missing: 'RUN_E005',
  launcher_lost: 'RUN_E005',
  launcher_failed: 'RUN_E005',
  program_unreadable: 'RUN_E005',
  stage_failed: 'RUN_E005',
  evidence_invalid: 'RUN_E006',
};
