/**
 * Why a result or an output was rejected. The list is closed: the public sentence depends on the code alone, so it
 * reveals nothing that the script wrote and nothing about the machine.
 */
export type ReasonCode = keyof typeof SENTENCES;

/**
 * The script's output violates a rule. Returned, not thrown, because it is an outcome of the run and not a Proctor
 * fault.
 */
export interface Breach {
  readonly ok: false;
  readonly code: ReasonCode;
  /** For the internal log. May name the script's files and keys, so it is never shown. */
  readonly detail: string;
}

export function breach(code: ReasonCode, detail: string): Breach {
  return { ok: false, code, detail };
}

export function publicSentence(code: ReasonCode): string {
  return SENTENCES[code];
}

const NO_RESULT = 'The run did not produce a valid result.';
const BAD_FILES = 'The run left files of a kind that is not allowed.';
const TOO_MUCH = 'The run left more output than its limits allow.';

const SENTENCES = {
  result_missing: NO_RESULT,
  result_not_regular: NO_RESULT,
  result_too_large: NO_RESULT,
  result_bad_utf8: NO_RESULT,
  result_bad_json: NO_RESULT,
  result_duplicate_key: NO_RESULT,
  result_too_deep: NO_RESULT,
  version_unsupported: NO_RESULT,
  schema_invalid: NO_RESULT,
  artifact_path_invalid: NO_RESULT,
  artifact_type_forbidden: BAD_FILES,
  artifact_collision: BAD_FILES,
  artifact_name_invalid: BAD_FILES,
  artifact_limit_count: TOO_MUCH,
  artifact_limit_file: TOO_MUCH,
  artifact_limit_total: TOO_MUCH,
  artifact_limit_depth: TOO_MUCH,
} as const;
