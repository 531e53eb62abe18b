/** What a key names: an attempt of a case. `again` counts how often another worker was asked to make it again. */
export interface NamedAttempt {
  readonly run_id: string;
  readonly case_id: string;
  readonly attempt: number;
  readonly again?: number | undefined;
}

/** The idempotency key of an attempt. No run id or case id contains a slash, so each key names one attempt. */
export function attemptKey({ run_id, case_id, attempt, again }: NamedAttempt): string {
  const first = `${run_id}/${case_id}/${attempt}`;
  return again === undefined ? first : `${first}/${again}`;
}

/** Enough for lost and interrupted workers. */
export const AGAIN_MAX = 99;
