import path from 'node:path';
import { bytesHash, contentHash } from '../../base/hash.ts';
import { NOT_OF_THE_AGENT } from '../../contracts/agent-step/reading.ts';
import { hashOfAnswer } from '../../contracts/artifacts/answer-hash.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { repairsOf } from '../../contracts/artifacts/repairs.ts';
import { ERROR_NAME, pathFault } from '../../contracts/artifacts/words.ts';
import { type Assertion, type JudgedCase, scoreOf, verdictOf } from '../../contracts/evaluation/index.ts';
import { nameOfCheck } from '../../contracts/checks/shape.ts';
import type { Expected, SuiteCase } from '../../contracts/suite/index.ts';
import { latencyOf, ttftOf } from './answer.ts';
import { judgeAnswerSomewhere, type JudgeApart } from './apart.ts';
import type { RunCheck } from './check.ts';
import type { Effort } from './effort.ts';
import type { JudgedExpectations } from './expectations.ts';
import { fails, holds, notJudged } from './judgement.ts';
import { saying } from './sentence.ts';
import { reportedUsage } from './usage.ts';

/** Judges one case. Returns a promise only if a check script must run or a pattern takes a long time. */
export function judgeCase(
  asked: SuiteCase,
  artifact: CaseArtifact | undefined,
  judging: CaseJudging,
): JudgedCase | Promise<JudgedCase> {
  if (artifact === undefined) return judged(asked, undefined, 'missing', []);
  const { runner_failure: failure } = artifact;
  if (failure && !isOwnDoing(artifact)) return judged(asked, artifact, failure.class, []);
  const found = judgeAnswerSomewhere(expectedOf(asked, artifact), artifact, judging);
  if (found instanceof Promise) return found.then(late => judgedBy(asked, artifact, late, judging));
  return judgedBy(asked, artifact, found, judging);
}

/** If a case has checks but expects nothing of them, every check must pass. */
function expectedOf({ expected = {}, checks = [] }: SuiteCase, { agent_run: run }: CaseArtifact): Expected {
  if (!run || expected.check !== undefined || expected.tests !== undefined) return expected;
  const names = new Set([...checks.map(nameOfCheck), ...(run.checks ?? []).map(({ name }) => name)]);
  return names.size === 0 ? expected : { ...expected, check: [...names] };
}

/**
 * A case fails if the agent program broke its policy, exceeded its limits or failed. If the model or the machine
 * failed, or time ran out, the case is an error, as with any other target.
 */
function isOwnDoing({ runner_failure: failure, agent_run: run }: CaseArtifact): boolean {
  return failure?.class === 'other' && run !== undefined && run.reason !== 'ok' && !NOT_OF_THE_AGENT.has(run.reason);
}

export interface CaseJudging {
  readonly folder: string;
  readonly runCheck: RunCheck;
  readonly effort: Effort;
  readonly judgeApart: JudgeApart | undefined;
}

function judgedBy(
  asked: SuiteCase,
  artifact: CaseArtifact,
  { assertions, isBroken }: JudgedExpectations,
  { folder, runCheck }: CaseJudging,
): JudgedCase | Promise<JudgedCase> {
  const script = artifact.runner_failure ? undefined : asked.expected?.script;
  if (!script) return judged(asked, artifact, isBroken ? 'other' : null, assertions);
  const order = { ...script, folder, input: { case: asked, artifact } };
  return judgeByScript(order, runCheck).then(({ assertion, isBroken: hasTrouble }) =>
    judged(asked, artifact, isBroken || hasTrouble ? 'other' : null, [...assertions, assertion]),
  );
}

function judged(
  asked: SuiteCase,
  artifact: CaseArtifact | undefined,
  error_class: JudgedCase['error_class'],
  assertions: Assertion[],
): JudgedCase {
  const verdict = verdictOf({ error_class, assertions });
  const repairs = artifact && repairsOf(artifact);
  return {
    case_id: asked.id,
    case_sha256: askedHash(asked),
    verdict,
    error_class,
    ...(artifact?.runner_failure && { failure: failureIn(artifact.runner_failure) }),
    assertions,
    metrics: { ...measured(artifact), score: scoreOf({ verdict, assertions }) },
    output_hash: hashOf(artifact?.final_output?.output_hash),
    ...answerHash(artifact),
    ...(repairs && { repairs }),
  };
}

function failureIn(failure: NonNullable<CaseArtifact['runner_failure']>): JudgedCase['failure'] {
  const { status = null, latency_ms = null, error_name = '', error_message = '' } = failure;
  const message = saying(error_message, '');
  return {
    status,
    latency_ms,
    ...(ERROR_NAME.test(error_name) && { error_name }),
    ...(message !== '' && { message }),
  };
}

/** Covers only what can affect the verdict, so a new title or suite name does not change the case. */
function askedHash(asked: SuiteCase): string {
  const { schema_version: _, title: __, suite: ___, ...rest } = asked;
  return contentHash(rest);
}

function measured(artifact: CaseArtifact | undefined): Omit<JudgedCase['metrics'], 'score'> {
  if (!artifact) return { latency_ms: null, attempts: 0, cost_usd: null, tokens: null, steps: 0 };
  const { costUsd, tokens, inputTokens, outputTokens } = reportedUsage(artifact);
  const ttft_ms = ttftOf(artifact);
  return {
    // The time without an answer says nothing about the agent's speed.
    latency_ms: artifact.runner_failure ? null : latencyOf(artifact),
    ...(ttft_ms !== undefined && { ttft_ms }),
    attempts: artifact.attempts?.length ?? artifact.runner_failure?.attempt ?? 1,
    cost_usd: costUsd,
    tokens,
    ...(inputTokens !== null && { input_tokens: inputTokens }),
    ...(outputTokens !== null && { output_tokens: outputTokens }),
    steps: (artifact.events ?? []).filter(({ type }) => type === 'tool_call').length,
  };
}

function answerHash(artifact: CaseArtifact | undefined): Pick<JudgedCase, 'answer_hash'> {
  const answer_hash = artifact && hashOfAnswer(artifact);
  return answer_hash === undefined ? {} : { answer_hash };
}

/** The artifact contract allows any text as a hash; a long one is hashed again. */
function hashOf(hash: string | undefined): string | null {
  if (hash === undefined) return null;
  return hash.length <= HASH_UNITS_MAX ? hash : bytesHash(hash);
}

const HASH_UNITS_MAX = 200;

interface ScriptOrder {
  readonly folder: string;
  readonly file: string;
  readonly timeout_ms?: number | undefined;
  readonly input: { readonly case: SuiteCase; readonly artifact: CaseArtifact };
}

async function judgeByScript(
  { folder, file, timeout_ms: timeoutMs, input }: ScriptOrder,
  runCheck: RunCheck,
): Promise<{ readonly assertion: Assertion; readonly isBroken: boolean }> {
  // The runner stores checks only there, so it did not write any other path.
  const isOurs = pathFault(file) === undefined && /^assets\/[^/\\]+$/.test(file);
  const answer = isOurs
    ? await runCheck({ script: path.join(folder, file), input, ...(timeoutMs !== undefined && { timeoutMs }) })
    : { trouble: "The check is not among the run's files." };
  if ('trouble' in answer) {
    return { assertion: { name: 'script', ...notJudged(saying(answer.trouble, UNTOLD)) }, isBroken: true };
  }
  const judgement = answer.ok ? holds(null) : fails(saying(answer.message, 'The check failed.'), null);
  return { assertion: { name: 'script', ...judgement }, isBroken: false };
}

const UNTOLD = 'The check could not be run.';
