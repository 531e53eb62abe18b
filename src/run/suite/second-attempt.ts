import { bytesHash, contentHash } from '../../base/hash.ts';
import { AGAIN_MAX, attemptKey } from '../../contracts/attempt-key.ts';
import { isChosenTwice, type TwiceCase, type TwiceKind } from '../../contracts/made-twice/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import type { KeptTwice } from '../../evidence/suite/made-twice.ts';
import type { AttemptOutcome } from '../../queue/queue.ts';
import { type ReplyComparison, replyComparison } from '../../targets/answer-proof.ts';
import { patiently } from '../../store/patience.ts';
import { againProtocol, QuestionWriter, queuedText } from './attempt-question.ts';
import { Offers } from './offers.ts';
import { readWorkerReport, type QueuedRun, sharedRequest } from './queued-target.ts';
import { type Answered, type AttemptResult, CANCELLED, type CaseQuestion, type Target } from './target.ts';

export interface TwiceRun extends QueuedRun {
  /** The verdict on an answer that took this long; null if it cannot be judged at once. */
  readonly verdictOf: (one: SuiteCase, answer: Answered, latencyMs: number) => 'pass' | 'fail' | null;
  /** How long the second attempt may wait for a worker and its outcome; tests shorten it. */
  readonly secondWaitMs?: number | undefined;
}

/**
 * A queued target that lets a second worker make the chosen attempts again, after the first has answered. The case waits
 * for it, so a resumed run and a rebuilt folder find both outcomes in the queue.
 */
export function twiceTarget(inner: Target, run: TwiceRun): Target {
  const { run_id: runId, twice } = run.plan.request;
  if (!twice) return inner;
  const seconds = new SecondAttempts(run);
  return {
    ...inner,
    async ask(question) {
      const { one, isLast, onArrived } = question;
      if (!isChosenTwice(twice, runId, one.id)) return inner.ask(question);
      const { onArrived: _, ...unanswered } = question;
      const first = await inner.ask(unanswered);
      const { outcome } = first;
      const isEnd = outcome.ok || isLast?.(outcome) === true;
      const made = isEnd && first.signer ? await seconds.of(question, first) : undefined;
      if (made === 'cancelled') return { latencyMs: 0, outcome: CANCELLED };
      if (outcome.ok) await onArrived?.();
      return made ? { ...first, twice: made } : first;
    },
    cancel() {
      seconds.cancel();
      inner.cancel();
    },
    async close() {
      await seconds.close();
      await inner.close();
    },
  };
}

type Asked = Pick<CaseQuestion, 'one' | 'attempt' | 'signal' | 'trace'>;
type Second = NonNullable<TwiceCase['second']>;
type Why = Exclude<NonNullable<TwiceCase['why']>, 'not_answered'>;

class SecondAttempts {
  readonly #run: TwiceRun;
  readonly #offers: Offers;
  readonly #writer: QuestionWriter;
  readonly #compare: ReplyComparison | undefined;
  readonly #waitMs: number;
  /** The key whose attempts no other worker made again in time; undefined while another worker is around. */
  #aloneKey: string | undefined;

  constructor(run: TwiceRun) {
    const { queue, plan, onWarning, handedBackMs } = run;
    this.#run = run;
    this.#offers = new Offers(queue, plan.request.run_id, onWarning, handedBackMs);
    this.#writer = new QuestionWriter(plan);
    this.#compare = replyComparison(plan.request);
    this.#waitMs = run.secondWaitMs ?? plan.request.settings.timeout_ms + WAIT_MS;
  }

  /** Lets another worker make an attempt again, and compares the two. */
  async of(asked: Asked, first: AttemptResult): Promise<KeptTwice | 'cancelled'> {
    const { one, attempt } = asked;
    const made = await this.#made(asked, first);
    if (made === 'cancelled') return made;
    const { signer, worker = '', signedOutcome = '' } = first;
    const verdict = this.#verdictOf(one, first, first.latencyMs);
    const ofFirst = {
      worker,
      key_id: signer?.keyId ?? '',
      public_key: signer?.publicPem ?? '',
      outcome_sha256: bytesHash(signedOutcome),
      verdict,
    };
    const base = { case_id: one.id, attempt, first: ofFirst };
    if (typeof made === 'string') return { note: { ...base, second: null, why: made, differs: null }, assets: [] };
    const { second, again } = made;
    const reply = replyAsset(one.id, attempt, again, first, second);
    const ofSecond: Second = {
      worker: second.worker ?? '',
      key_id: second.signer?.keyId ?? '',
      public_key: second.signer?.publicPem ?? '',
      outcome_sha256: bytesHash(second.signedOutcome ?? ''),
      // Judged with the time of the first, because another machine may be slower.
      verdict: this.#verdictOf(one, second, first.latencyMs),
      again,
      reply: reply?.href ?? null,
    };
    const differs = this.#differences(one.id, attempt, first, second, [verdict, ofSecond.verdict]);
    return {
      note: { ...base, second: ofSecond, why: null, differs },
      outcome: second.signedOutcome,
      assets: reply ? [reply] : [],
    };
  }

  cancel(): void {
    this.#offers.cancel();
  }

  async close(): Promise<void> {
    await this.#offers.close();
  }

  /** An attempt that was lost, withdrawn or refused is made again under the next key, but only so often. */
  async #made(
    asked: Asked,
    first: AttemptResult,
  ): Promise<{ readonly second: AttemptResult; readonly again: number } | Why | 'cancelled'> {
    const keyId = first.signer?.keyId ?? '';
    if (this.#aloneKey === keyId) return 'no_other_worker';
    this.#aloneKey = undefined;
    let failures = 0;
    for (let again = 1; again <= AGAIN_MAX; again++) {
      const outcome = await this.#offered(asked, again, keyId);
      if (asked.signal.aborted) return 'cancelled';
      if (!outcome || outcome.is === 'handed_back') return this.#gaveUp(keyId);
      if (outcome.is === 'withdrawn') continue;
      this.#aloneKey = undefined;
      const second = outcome.is === 'reported' ? await this.#read(outcome.report, asked, again) : 'lost';
      if (typeof second !== 'string' && second.signer?.keyId !== keyId) return { second, again };
      const why = second === 'lost' ? 'lost' : 'refused';
      if (++failures >= FAILURES_MAX || (why === 'lost' && this.#run.lost === 'never')) return why;
    }
    return 'lost';
  }

  /** Undefined if no worker made it in time, or if the run is cancelled. */
  async #offered(asked: Asked, again: number, notBy: string): Promise<AttemptOutcome | undefined> {
    const { one, attempt, signal, trace } = asked;
    const key = this.#keyOf(one, attempt, again);
    const text = this.#writer.write(one, attempt, key, again);
    const ask = await patiently(() => queuedText(text, this.#run.store), signal);
    if (ask === undefined) return undefined;
    const shared = sharedRequest(this.#run);
    const request = {
      ...shared,
      protocol: againProtocol(shared.protocol),
      key,
      ask,
      notBy,
      ...(trace !== undefined && { trace }),
    };
    return this.#offers.outcomeWithin(request, signal, this.#waitMs);
  }

  #keyOf(one: SuiteCase, attempt: number, again: number): string {
    return attemptKey({ run_id: this.#run.plan.request.run_id, case_id: one.id, attempt, again });
  }

  async #read(report: string, { one, attempt, signal }: Asked, again: number): Promise<AttemptResult | string> {
    const { target_sha256: targetSha256 } = this.#run.plan.request;
    const key = this.#keyOf(one, attempt, again);
    const asked = { key, caseId: one.id, one, targetSha256, caseSha256: contentHash(one) };
    return readWorkerReport(report, asked, this.#run, signal);
  }

  /** Later attempts of this key need not wait, until another worker is seen. */
  #gaveUp(keyId: string): Why {
    if (this.#aloneKey !== keyId) this.#run.onWarning?.(ALONE);
    this.#aloneKey = keyId;
    return 'no_other_worker';
  }

  #verdictOf(one: SuiteCase, { outcome }: AttemptResult, latencyMs: number): 'pass' | 'fail' | null {
    return outcome.ok ? this.#run.verdictOf(one, outcome, latencyMs) : null;
  }

  #differences(
    id: string,
    attempt: number,
    first: AttemptResult,
    second: AttemptResult,
    [before, after]: readonly ['pass' | 'fail' | null, 'pass' | 'fail' | null],
  ): TwiceKind[] {
    const [one, other] = [first.outcome, second.outcome];
    if (!one.ok || !other.ok) return !one.ok && !other.ok && one.class === other.class ? [] : ['outcome'];
    const isOther = before !== null && after !== null && before !== after;
    const isOtherText = this.#answerOf(id, attempt, one) !== this.#answerOf(id, attempt, other);
    return [...(isOther ? (['verdict'] as const) : []), ...(isOtherText ? (['text'] as const) : [])];
  }

  /** The hash of the answer, as the verifier computes it. */
  #answerOf(id: string, attempt: number, { kept }: Answered): string | undefined {
    if (!kept) return undefined;
    const { body, frameMs } = kept;
    const sha256 = bytesHash(body);
    const reply = { schema_version: 'suite-reply.v1', case_id: id, attempt, sha256, bytes: body.length } as const;
    return this.#compare?.({ ...reply, ...(frameMs && { frame_ms: [...frameMs] }) }, body).answer;
  }
}

/** The file of the second reply; undefined if the first has the same bytes, or if there is no reply. */
function replyAsset(
  caseId: string,
  attempt: number,
  again: number,
  first: AttemptResult,
  second: AttemptResult,
): KeptTwice['assets'][number] | undefined {
  const bytes = keptBytes(second);
  const before = keptBytes(first);
  if (!bytes || before?.equals(bytes)) return undefined;
  return { href: `assets/${caseId}.${attempt}.again-${again}.reply`, kind: 'other', caseId, bytes };
}

function keptBytes({ outcome }: AttemptResult): Buffer | undefined {
  return outcome.ok ? outcome.kept?.body : undefined;
}

const ALONE =
  'No worker with another key made an attempt again in time, so it was not made twice. Start a worker with its own key.';

/** In addition to the timeout of an attempt: the second waits behind other attempts. */
const WAIT_MS = 30_000;
/** A case that loses two workers must not go to a third. */
const FAILURES_MAX = 2;
