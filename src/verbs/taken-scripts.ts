import { canonicalize } from '../base/canonical.ts';
import { bytesHash, type ContentHash } from '../base/hash.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import { runner } from '../contracts/runner/index.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import { scriptRequest } from '../contracts/script-request/index.ts';
import type { ScriptRequest } from '../contracts/script-request/shape.ts';
import { readScriptFolder } from '../evidence/script/script-folder.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import { scriptNote } from '../run/suite/attempt-question.ts';
import type { AskedAttempt } from '../run/suite/reported-attempt.ts';
import { scriptAnswer, type ScriptReader } from '../run/suite/script-answer.ts';
import { SCRIPT_CASE, SCRIPT_KEY } from '../run/suite/script-target.ts';
import { questionOf } from '../targets/kinds/proctor.ts';
import { type ReadPacked, type SentKind, soundPacked } from './taken-runs.ts';

type ScriptTarget = Extract<SuiteTarget, { kind: 'script' }>;

/** How a conductor takes over the runs of a script. */
export function sentScripts(
  { request, bounds, runner: planned }: Pick<SuitePlan, 'request' | 'bounds' | 'runner'>,
  target: ScriptTarget,
  reader: ScriptReader,
): SentKind {
  const { requested } = scriptNote(target, bounds);
  const asked = {
    target,
    requested,
    secretNames: [...request.secret_names].sort(),
    question: (attempt: AskedAttempt) => bytesHash(questionOf(attempt.one, request.version, request.run_id)),
    isBlocked: planned.sandbox.network_blocked,
  };
  return {
    kind: 'script',
    idForm: /^script_\d{8}_\d{6}_[0-9a-f]{12}$/,
    filesMax: planned.limits.max_output_files + OWN_FILES_MAX,
    fault: (read, attempt) => otherRun(read, attempt, asked),
    async answer(folder, { one }) {
      const { outcome } = readScriptFolder(folder);
      const answer = outcome && scriptAnswer(folder, outcome, one.id, reader);
      if (!answer) return 'its run has no outcome';
      return !answer.ok && answer.cancelled ? 'its run was cancelled' : { outcome: answer };
    },
  };
}

/** The files that Proctor adds to the output of a script are fewer than this. */
export const OWN_FILES_MAX = 100;

interface AskedScript {
  readonly target: ScriptTarget;
  readonly requested: ScriptRequest['requested'];
  readonly secretNames: readonly string[];
  readonly question: (asked: AskedAttempt) => ContentHash;
  readonly isBlocked: boolean;
}

/** Why the run is not the one that was asked for. */
function otherRun(read: ReadPacked, attempt: AskedAttempt, asked: AskedScript): string | undefined {
  const request = soundPacked(read, 'evidence/request.json', scriptRequest) as ScriptRequest | undefined;
  const record = soundPacked(read, 'evidence/runner.json', runner) as Runner | undefined;
  if (!request || !record) return 'its run has no request or no runner record';
  const { script, inputs, args, env_names, secret_names, requested, published } = request;
  const { target, question, secretNames, isBlocked } = asked;
  if (script.sha256 !== target.sha256) return 'its run is that of another script';
  const [input] = inputs;
  if (inputs.length !== 1 || input?.name !== SCRIPT_CASE || input.sha256 !== question(attempt))
    return 'its run is that of another case';
  const isSame =
    args.length === 0 &&
    published === undefined &&
    canonicalize([env_names, secret_names]) === canonicalize([[SCRIPT_KEY], secretNames]) &&
    canonicalize(requested) === canonicalize(asked.requested);
  if (!isSame) return 'its run had other arguments, variables or limits';
  const { backend, isolation_level, network_blocked } = record.sandbox;
  const isWeaker =
    backend !== target.sandbox ||
    (target.isolation === 'strict' && isolation_level !== 'strict') ||
    (isBlocked && !network_blocked);
  return isWeaker ? 'its run was less isolated than the suite requires' : undefined;
}
