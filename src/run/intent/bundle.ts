import { type Bundle, bundleIdOf, type Intent, intentPlan } from '../../contracts/intent/index.ts';
import type { Profile } from '../../contracts/profile/shape.ts';
import type { Question } from './questions.ts';

/** The exact plan for an intent under a profile, and its open questions. */
export function bundleOf(
  intent: Intent,
  intentSha256: string,
  profile: Profile,
  questions: readonly Pick<Question, 'id' | 'key' | 'text'>[],
): Bundle {
  const rest: Omit<Bundle, 'bundle_id'> = {
    schema_version: 'bundle.v1',
    intent_sha256: intentSha256,
    status: questions.length === 0 ? 'complete' : 'incomplete',
    ...intentPlan(intent, profile),
    questions: questions.map(({ id, key, text }) => ({ id, key, text })),
  };
  return { bundle_id: bundleIdOf(rest), ...rest };
}
