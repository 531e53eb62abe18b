import { hash } from 'node:crypto';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import type { TemplateValues } from '../../targets/mapping/template-names.ts';

/** What a template can use of a case and its attempt. */
export function questionValues(one: SuiteCase, key: string): TemplateValues {
  const { user, context } = one.input;
  return {
    input: { user, ...(context !== undefined && { context }) },
    case: { id: one.id, ...(one.metadata && { metadata: one.metadata }) },
    attempt: { key },
    session: { id: sessionId(key) },
  };
}

/** A UUID that follows from the key of the attempt, so it is new for every attempt and can be found again. */
function sessionId(key: string): string {
  const hex = hash('sha256', key);
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}
