import { Masker, maskingOf } from '../../base/masker.ts';
import { readBelow } from '../../base/regular.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import { readReply, type SideName } from '../../targets/reply.ts';
import type { SuiteSettings } from './settings.ts';
import { type AttemptResult, type Body, CANCELLED, type FailedAttempt } from './target.ts';

/** How to read the answer of a script. */
export interface ScriptReader {
  readonly side: SideName;
  readonly secrets: Readonly<Record<string, string>>;
  readonly keepCredentials?: boolean;
  readonly settings: Pick<SuiteSettings, 'bodyBytesMax'>;
}

/** How a run ended, as its outcome.json states it. */
export type ScriptEnd = Pick<ScriptOutcome, 'status' | 'ending'>;

/**
 * Reads the answer to a case from the files of a run: output/reply.json, or else standard output. Undefined if the script
 * did not run. The result depends only on the folder, so a conductor can read the run of a worker again.
 */
export function scriptAnswer(
  folder: string,
  { status, ending }: ScriptEnd,
  caseId: string,
  { side, secrets, keepCredentials, settings: { bodyBytesMax } }: ScriptReader,
): AttemptResult['outcome'] | undefined {
  if (ending.how === 'killed' && ending.by === 'cancel') return CANCELLED;
  const raw =
    readBelow(folder, 'output/reply.json', bodyBytesMax) ??
    readBelow(folder, 'evidence/steps/script/stdout.txt', bodyBytesMax);
  // Masks what goes into the artifact. The file in output/ stays unchanged.
  const masker = new Masker(maskingOf(Object.values(secrets), keepCredentials));
  const said = raw && masker.whole(raw);
  const body: Body | undefined =
    said && said.length > 0
      ? { bytes: said, bytesTotal: said.length, truncated: false, contentType: null, headers: {} }
      : undefined;
  const failed = (failure: Omit<FailedAttempt, 'ok' | 'body'>): FailedAttempt => ({
    ...failure,
    ok: false,
    masked: masker.kinds,
    ...(body && { body }),
  });
  if (status === 'timed_out') return failed({ class: 'timeout', message: 'The script timed out.', mayRetry: true });
  if (ending.how === 'lost' || ending.how === 'not_started') return undefined;
  // A reply counts even without a result.json.
  if (ending.how !== 'exited' || ending.code !== 0) {
    return failed({ class: 'schema_mismatch', message: 'The script failed.', mayRetry: false });
  }
  const answer = readReply(said ?? Buffer.alloc(0), bodyBytesMax, { caseId, side, isLenient: false });
  return answer.ok
    ? { ...answer, masked: masker.kinds, bytes: said?.length ?? 0 }
    : failed({ ...answer, mayRetry: false });
}
