import path from 'node:path';
import { parseInstant } from '../base/clock.ts';
import { bytesHash, contentHash } from '../base/hash.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { type AttemptStatement, openAttempt } from '../contracts/attempt-outcome/index.ts';
import { type SuiteCase, type SuiteRequest, suiteRequest } from '../contracts/suite/index.ts';
import { soundDocument } from '../evidence/document.ts';
import type { Attempt } from '../evidence/suite/suite-run.ts';
import { type Inspector, mustFinding, type Surroundings } from './inspector.ts';
import { WO } from './outcome-rules.ts';
import { signatureFault, type Trust } from './signatures.ts';

interface Statement extends AttemptStatement {
  readonly place: string;
}

interface StatedAttempt {
  readonly file: string;
  readonly at: string;
  readonly caseId: string;
  readonly attempt: Attempt;
}

/** A run whose attempts workers made. */
class QueuedRun {
  readonly statements = new Map<string, Statement>();
  readonly attempts: StatedAttempt[] = [];
  readonly cases = new Map<string, string>();
}

/** WO6 and WO7: compares what workers signed with the attempts in the folder. */
export function outcomeInspector({ bytesOf, hashOf, troubled, report }: Surroundings, trust?: Trust): Inspector {
  const runs = new Map<string, QueuedRun>();
  const requests = new Map<string, SuiteRequest | undefined>();
  const runIn = (folder: string): QueuedRun => {
    const run = runs.get(folder) ?? new QueuedRun();
    runs.set(folder, run);
    return run;
  };
  const requestIn = (folder: string): SuiteRequest | undefined => {
    if (!requests.has(folder)) {
      const bytes = bytesOf(path.posix.join(folder, 'evidence/request.json'));
      requests.set(folder, bytes && (soundDocument(bytes, suiteRequest) as SuiteRequest | undefined));
    }
    return requests.get(folder);
  };

  function takeOutcome(file: string, place: string, value: object): void {
    const opened = openAttempt(value);
    if (!opened) return;
    const { statements } = runIn(path.posix.dirname(path.posix.dirname(file)));
    const sha256 = bytesHash(JSON.stringify(value));
    if (statements.has(sha256))
      report({ rule: WO.WO6.id, level: 'must', file: place, message: 'is a duplicate of another outcome' });
    statements.set(sha256, { ...opened.statement, place });
    const { envelope } = opened;
    const unsigned = envelope.signatures.length === 0 ? 'is not signed' : undefined;
    const fault = unsigned ?? (trust && signatureFault(trust, envelope)?.message);
    const message = `${fault}. Case ${opened.statement.predicate.case_id} rests on it`;
    if (fault !== undefined) report({ rule: WO.WO7.id, level: 'must', file: place, message });
  }

  return {
    take({ file, place, contract, value }) {
      const folder = path.posix.dirname(file);
      if (contract.name === 'attempt-outcome') takeOutcome(file, place, value);
      if (contract.name === 'suite-case' && requestIn(path.posix.dirname(folder))?.queued)
        runIn(path.posix.dirname(folder)).cases.set((value as SuiteCase).id, contentHash(value));
      if (contract.name !== 'case') return;
      const { case_id: caseId, attempts = [] } = value as CaseArtifact;
      const isQueued = requestIn(folder)?.queued === true;
      for (const [index, attempt] of attempts.entries())
        if (isQueued || attempt.outcome_sha256 !== undefined)
          runIn(folder).attempts.push({ file, at: `attempts[${index}]`, caseId, attempt });
    },

    end() {
      for (const [folder, run] of runs) {
        if (troubled.has(path.posix.join(folder, 'evidence/request.json'))) continue;
        const savedHash = (href: string): string | undefined => hashOf(path.posix.join(folder, href));
        for (const { file, at, message } of disagreements(run, requestIn(folder), savedHash))
          report(mustFinding(WO.WO6.id, file, at, message));
      }
    },
  };
}

interface Disagreement {
  readonly file: string;
  readonly at: string;
  readonly message: string;
}

function* disagreements(
  { statements, attempts, cases }: QueuedRun,
  request: SuiteRequest | undefined,
  savedHash: (href: string) => string | undefined,
): Generator<Disagreement> {
  // WO8 covers the outcomes of second workers.
  const left = new Map([...statements].filter(([, { predicate }]) => predicate.again === undefined));
  for (const { file, at, caseId, attempt } of attempts) {
    const sha256 = attempt.outcome_sha256;
    const statement = sha256 === undefined ? undefined : left.get(sha256);
    if (sha256 === undefined) {
      const isLost = attempt.outcome === 'runner_error' && attempt.error_class === 'other';
      if (!isLost) yield { file, at, message: 'has no outcome that a worker signed' };
      continue;
    }
    if (!statement) yield { file, at, message: 'refers to an outcome that is missing, or belongs to another attempt' };
    else
      for (const key of differences(caseId, attempt, statement, savedHash)) yield { file, at, message: differs(key) };
    left.delete(sha256);
  }
  for (const { place } of left.values())
    yield { file: place, at: 'payload', message: 'belongs to no attempt of this run' };
  for (const { place, predicate } of statements.values()) {
    const what = aboutRun(predicate, request, cases);
    if (what !== undefined) yield { file: place, at: `payload.predicate.${what}`, message: 'differs from the run' };
  }
}

function differs(key: string): string {
  return `differs in ${key} from the outcome that its worker signed`;
}

function aboutRun(
  { run_id, case_id, target_sha256, case_sha256 }: AttemptStatement['predicate'],
  request: SuiteRequest | undefined,
  cases: ReadonlyMap<string, string>,
): string | undefined {
  if (!request?.queued || run_id !== request.run_id) return 'run_id';
  if (target_sha256 !== request.target_sha256) return 'target_sha256';
  return case_sha256 === cases.get(case_id) ? undefined : 'case_sha256';
}

/** The keys in which an attempt differs from what its worker signed. */
function* differences(
  caseId: string,
  attempt: Attempt,
  { subject, predicate }: AttemptStatement,
  savedHash: (href: string) => string | undefined,
): Generator<string> {
  const { failure, run } = predicate;
  const received = subject.find(({ name }) => name !== 'run');
  const digest = received && `sha256:${received.digest.sha256}`;
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['case_id', caseId, predicate.case_id],
    ['attempt', attempt.attempt, predicate.attempt],
    ['idempotency_key', attempt.idempotency_key, predicate.key],
    ['worker', attempt.worker, predicate.worker.name],
    ['started_at', parseInstant(attempt.started_at), parseInstant(predicate.started_at)],
    ['latency_ms', attempt.latency_ms, predicate.latency_ms],
    ['outcome', attempt.outcome, predicate.outcome],
    ['http_status', attempt.http_status, predicate.http_status],
    ['run_id', attempt.run_id, run?.id],
    ['masked', JSON.stringify(attempt.masked ?? {}), JSON.stringify(predicate.masked ?? {})],
    ['error_class', attempt.error_class, failure?.class],
    ['note', attempt.note, failure?.message],
    ['reply_sha256', attempt.reply_sha256, failure ? undefined : digest],
  ];
  for (const [key, stated, signed] of pairs) if (stated !== signed) yield key;
  const saved = attempt.full_body_saved_to;
  if (failure && (saved === undefined ? undefined : savedHash(saved)) !== digest) yield 'full_body_saved_to';
}
