import { onTestFinished } from 'vitest';
import { newKeyPair, privateKeyIn } from '../../../src/base/ed25519.ts';
import { contentHash } from '../../../src/base/hash.ts';
import type { AttemptQuestion } from '../../../src/contracts/attempt-request/index.ts';
import { signerWith } from '../../../src/contracts/seal/index.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import { readQuestion } from '../../../src/run/suite/attempt-question.ts';
import { attemptReport, type MadeAttempt } from '../../../src/run/suite/attempt-report.ts';
import { readReply } from '../../../src/targets/reply.ts';

/** What a lying worker says instead of asking the target. */
export type Lie = (question: AttemptQuestion) => object;

/** A stand-in for a worker that makes answers up, and signs them with its own key. It never asks the target. */
export function lyingWorker(
  queue: Queue,
  lie: Lie,
  { name = 'liar', protocols = [1, 101], slots = 4, hidesKey = false } = {},
) {
  const { privatePem, publicPem, keyId } = newKeyPair();
  const key = privateKeyIn(privatePem);
  if (!key) throw new Error('no key');
  const reporter = { name, version: '0.0.0', environmentHash: contentHash({}), signer: signerWith(key) };
  const stop = new AbortController();
  const told: string[] = [];
  const ended = (async () => {
    while (!stop.signal.aborted) {
      const shown = hidesKey ? {} : { keyId };
      const offer = { worker: name, needs: ['http'], slots, version: '0.0.0', protocols, ...shown };
      for (const claim of await queue.claim(offer, slots, { waitMs: 200, signal: stop.signal })) {
        const question = await readQuestion(claim.request.ask, undefined);
        const reply = lie(question);
        told.push(question.key);
        const report = await attemptReport(question, madeUp(question, reply), reporter);
        await queue.settle([{ claim, end: { is: 'reported', report } }]);
      }
    }
  })();
  ended.catch(() => undefined);
  onTestFinished(async () => {
    stop.abort();
    await ended.catch(() => undefined);
  });
  return { told, keyId, publicPem, stop: () => stop.abort(), ended };
}

function madeUp(question: AttemptQuestion, reply: object): MadeAttempt {
  const body = Buffer.from(JSON.stringify(reply));
  const reading = readReply(body, 1_000_000, {
    caseId: String(question.case['id']),
    side: question.version,
    isLenient: true,
  });
  if (!reading.ok) throw new Error('the lie is not a reply');
  const nowMs = Date.now();
  return {
    startedAtMs: nowMs,
    endedAtMs: nowMs + 1,
    result: {
      latencyMs: 1,
      httpStatus: 200,
      outcome: { ...reading, masked: {}, bytes: body.length, kept: { body } },
    },
  };
}
