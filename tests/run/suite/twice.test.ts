import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { attemptKey } from '../../../src/contracts/attempt-key.ts';
import { isChosenTwice, type MadeTwice } from '../../../src/contracts/made-twice/index.ts';
import type { SuiteRequest } from '../../../src/contracts/suite/index.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import { resumeSuite } from '../../../src/verbs/resume-suite.ts';
import { answersWell, answerTo, json } from './agent.ts';
import { lyingWorker } from './lying-worker.ts';
import { changedQueue, queueWorld } from './queue-world.ts';
import { expectValid } from './support.ts';

const readIn = (folder: string, file: string): unknown => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));

const twiceIn = (folder: string) => readIn(folder, 'evidence/twice.json') as MadeTwice;

const requestIn = (folder: string) => readIn(folder, 'evidence/request.json') as SuiteRequest;

const keysSeen = ({ seen }: { seen: readonly { headers: object }[] }) =>
  seen.map(({ headers }) => String((headers as Record<string, string>)['idempotency-key'])).sort();

/** Makes up another answer. */
const anotherAnswer = (id: unknown) => ({
  case_id: id,
  version: 'new',
  proposed_actions: [],
  events: [],
  final_output: { content_type: 'text', content: 'I made this up.' },
});

/** Claims one attempt of a protocol as a worker that never makes it. */
async function claimed(queue: Queue, protocols: readonly number[], worker = 'dead') {
  const offer = { worker, needs: ['http'], slots: 1, version: '0.0.0', protocols };
  const [claim] = await queue.claim(offer, 1, { waitMs: 10_000 });
  if (!claim) throw new Error('nothing was offered');
  return claim;
}

describe('a suite that makes attempts twice', () => {
  test('lets a worker with another key make each attempt again, under a key of its own', async () => {
    const { run, worker, agent, folder } = await queueWorld();
    const workers = [worker({ name: 'w1' }), worker({ name: 'w2' })];
    const { runs } = await run({ twice: 1 });
    expect(runs[0]).toMatchObject({ ok: 3, failed: 0, twice: { chosen: 3, made: 3, differing: 0 } });
    const firsts = ['a', 'b', 'c'].map(case_id => attemptKey({ run_id: 'r1', case_id, attempt: 1 }));
    expect(keysSeen(agent)).toEqual(firsts.flatMap(key => [key, `${key}/1`]));
    const keys = workers.map(({ keyFile }) => readFileSync(keyFile, 'utf8'));
    for (const { first, second, why, differs } of twiceIn(folder).cases) {
      expect(new Set([first?.public_key, second?.public_key])).toEqual(new Set(keys));
      expect([second?.reply, why, differs]).toEqual([null, null, []]);
    }
    await expectValid(folder);
  });

  test('leaves the attempt, its key and its latency in the case as they were', async () => {
    const { run, worker, folder } = await queueWorld({ ids: ['a'] });
    worker();
    worker();
    await run({ twice: 1 });
    const { attempts } = readIn(folder, 'a.json') as { attempts: object[] };
    expect(attempts).toHaveLength(1);
    expect(attempts[0]).toMatchObject({ attempt: 1, idempotency_key: 'r1/a/1' });
    const outcomes = readFileSync(path.join(folder, 'assets/outcomes.ndjson'), 'utf8').trimEnd().split('\n');
    expect(outcomes).toHaveLength(2);
  });

  test('names the case, both workers and the verdicts if one of them lies', async () => {
    const { run, worker, queue, folder } = await queueWorld({ ids: ['a'], expected: { contains: 'You asked' } });
    const running = run({ twice: 1 });
    worker({ name: 'honest' });
    const liar = lyingWorker(queue, ({ case: one }) => anotherAnswer(one['id']), { protocols: [101] });
    await running;
    expect(liar.told).toEqual(['r1/a/1/1']);
    expect(twiceIn(folder)).toMatchObject({
      differing: 1,
      differ: { outcome: 0, verdict: 1, text: 1 },
      cases: [
        {
          case_id: 'a',
          first: { worker: 'honest', verdict: 'pass' },
          second: { worker: 'liar', key_id: liar.keyId, verdict: 'fail', reply: 'assets/a.1.again-1.reply' },
          differs: ['verdict', 'text'],
        },
      ],
    });
    expect(readFileSync(path.join(folder, 'assets/a.1.again-1.reply'), 'utf8')).toContain('I made this up.');
    await expectValid(folder);
  });

  test('counts the first answer, even if it is the lie', async () => {
    const { run, worker, queue, folder } = await queueWorld({ ids: ['a'], expected: { contains: 'You asked' } });
    const running = run({ twice: 1 });
    const liar = lyingWorker(queue, ({ case: one }) => anotherAnswer(one['id']));
    await expect.poll(() => liar.told).toEqual(['r1/a/1']);
    liar.stop();
    await liar.ended;
    worker({ name: 'honest' });
    const { runs } = await running;
    expect(runs[0]).toMatchObject({ judged: { failed: 1 }, twice: { differ: { verdict: 1 } } });
    expect(twiceIn(folder).cases[0]).toMatchObject({ first: { worker: 'liar' }, second: { worker: 'honest' } });
    await expectValid(folder);
  });

  test('tells text from verdict for an agent that is not deterministic', async () => {
    const { run, worker, folder } = await queueWorld({
      ids: ['a'],
      expected: { contains: 'Answer' },
      behaviours: {
        a: (seen, response, times) =>
          json(response, answerTo(seen, { final_output: { content_type: 'text', content: `Answer ${times}` } })),
      },
    });
    worker();
    worker();
    await run({ twice: 1 });
    expect(twiceIn(folder)).toMatchObject({ differ: { outcome: 0, verdict: 0, text: 1 }, differing: 1 });
    await expectValid(folder);
  });

  test.each([
    ['nothing, if only ids and times differ', (at: number) => ({ call_id: `c${at}`, ts: at, tool: 'search' }), 0],
    ['a difference, if an agent called another tool', (at: number) => ({ call_id: 'c', ts: 1, tool: `t${at}` }), 1],
  ] as const)('finds %s', async (_, call, differing) => {
    const { run, worker, folder } = await queueWorld({
      ids: ['a'],
      behaviours: {
        a: (seen, response, times) =>
          // The keys of a reply come in any order.
          json(response, answerTo(seen, { events: [{ type: 'tool_call', args: { b: 1, a: 2 }, ...call(times) }] })),
      },
    });
    worker();
    worker();
    await run({ twice: 1 });
    const { second, differs } = twiceIn(folder).cases[0] ?? {};
    expect(second?.reply).toBe('assets/a.1.again-1.reply');
    expect(differs).toEqual(differing === 1 ? ['text'] : []);
    await expectValid(folder);
  });

  test('makes only the attempt again that ends the case, and compares how it failed', async () => {
    const { run, worker, agent, folder } = await queueWorld({
      ids: ['a'],
      behaviours: {
        a: (seen, response, times) => (times === 3 ? answersWell(seen, response, times) : json(response, {}, 503)),
      },
    });
    worker();
    worker();
    await run({ twice: 1, retries: 1 });
    expect(keysSeen(agent)).toEqual(['r1/a/1', 'r1/a/2', 'r1/a/2/1']);
    expect(twiceIn(folder)).toMatchObject({ differ: { outcome: 1 }, cases: [{ attempt: 2, differs: ['outcome'] }] });
    await expectValid(folder);
  });

  test('makes the chosen share twice, which no worker can tell from a request', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `case-${index}`);
    const { run, worker, agent, folder } = await queueWorld({ ids });
    worker();
    worker();
    await run({ twice: 0.25, concurrency: 16 });
    const { twice } = requestIn(folder);
    const chosen = ids.filter(id => twice && isChosenTwice(twice, 'r1', id));
    expect(twiceIn(folder).cases.map(({ case_id }) => case_id)).toEqual(chosen);
    expect(agent.seen.length).toBe(ids.length + chosen.length);
    expect(JSON.stringify(agent.seen)).not.toContain(twice?.salt);
    await expectValid(folder);
  });

  test.each([0, 1.5, -1, Number.NaN])('refuses the share %s', async share => {
    const { run } = await queueWorld({ ids: ['a'] });
    await expect(run({ twice: share })).rejects.toThrow('must be more than 0 and at most 1');
  });

  test('needs a queue, and no limit of slots that it could not keep', async () => {
    const { run } = await queueWorld({ ids: ['a'] });
    await expect(run({ queue: undefined as never, twice: 1 })).rejects.toThrow('--twice requires a queue');
    await expect(run({ twice: 1, targetSlots: 2 })).rejects.toThrow('--target-slots cannot limit');
  });
});

describe('an attempt that could not be made twice', () => {
  test('is null, not the same, if there is no worker with another key', async () => {
    const warnings: string[] = [];
    const { run, worker, agent, queue, folder } = await queueWorld();
    worker();
    const { runs } = await run({ twice: 1, twiceWaitMs: 300, onWarning: sentence => warnings.push(sentence) });
    expect(runs[0]).toMatchObject({ ok: 3, twice: { chosen: 3, made: 0, differing: 0 } });
    for (const one of twiceIn(folder).cases)
      expect(one).toMatchObject({ second: null, differs: null, why: 'no_other_worker' });
    expect(warnings).toEqual([expect.stringMatching(/^No worker with another key made an attempt again in time/)]);
    expect(keysSeen(agent)).toEqual(['r1/a/1', 'r1/b/1', 'r1/c/1']);
    // Nothing waits that could reach the target after the seal.
    expect((await queue.overview()).needs).toMatchObject([{ waiting: 0, active: 0 }]);
    await expectValid(folder);
  });

  test('is not offered to workers of an older release, which still make the first attempts', async () => {
    const { run, queue, folder } = await queueWorld({ ids: ['a'] });
    const old = ['old', 'older'].map(name =>
      lyingWorker(queue, ({ case: one }) => anotherAnswer(one['id']), { name, protocols: [1], hidesKey: true }),
    );
    await run({ twice: 1, twiceWaitMs: 200 });
    expect(old.flatMap(({ told }) => told)).toEqual(['r1/a/1']);
    expect(twiceIn(folder).cases).toMatchObject([{ why: 'no_other_worker', differs: null }]);
    await expectValid(folder);
  });

  test('is refused if the same key signs it again', async () => {
    const { run, queue, folder } = await queueWorld({ ids: ['a'] });
    const liar = lyingWorker(queue, ({ case: one }) => anotherAnswer(one['id']), { hidesKey: true });
    await run({ twice: 1 });
    expect(liar.told).toEqual(['r1/a/1', 'r1/a/1/1', 'r1/a/1/2']);
    expect(twiceIn(folder)).toMatchObject({ made: 0, cases: [{ second: null, differs: null, why: 'refused' }] });
    await expectValid(folder);
  });

  test('is lost if two workers were lost, and the case keeps its answer', async () => {
    const { run, worker, agent, queue, age, folder } = await queueWorld({ ids: ['a'] });
    const running = run({ twice: 1 });
    worker();
    await claimed(queue, [101]);
    age();
    await claimed(queue, [101], 'dead too');
    age();
    const { runs } = await running;
    expect(runs[0]).toMatchObject({ ok: 1, twice: { made: 0 } });
    expect(twiceIn(folder).cases).toMatchObject([{ why: 'lost' }]);
    expect(keysSeen(agent)).toEqual(['r1/a/1']);
    await expectValid(folder);
  });

  test('has no first outcome if the case has none', async () => {
    const { run, queue, folder } = await queueWorld({ ids: ['a'], heartbeatMs: 100 });
    const running = run({ twice: 1, lost: 'never' });
    await claimed(queue, [1]);
    await running;
    expect(twiceIn(folder).cases).toMatchObject([{ attempt: null, first: null, second: null, why: 'not_answered' }]);
    await expectValid(folder);
  });
});

describe('a suite that stops between the first attempt and the second', () => {
  test('asks nothing twice under the same key after its conductor died', async () => {
    const { run, worker, agent, queue, cwd, folder } = await queueWorld({ ids: ['a'] });
    worker();
    let seconds = 0;
    const dying = changedQueue(queue, {
      offer: requests => {
        if (!requests.some(({ key }) => key === 'r1/a/1/1')) return queue.offer(requests);
        seconds++;
        return Promise.reject(new Error('killed'));
      },
    });
    await expect(run({ queue: dying, twice: 1 })).rejects.toThrow('killed');
    expect(seconds).toBe(1);
    worker();
    const { runs } = await resumeSuite('r1', { cwd, queue, variable: () => undefined });
    expect(runs[0]).toMatchObject({ ok: 1, twice: { chosen: 1, made: 1 } });
    expect(keysSeen(agent)).toEqual(['r1/a/1', 'r1/a/1/1']);
    await expectValid(folder);
  });

  test('makes a withdrawn second attempt again under the next key after Ctrl-C', async () => {
    const { run, worker, agent, queue, cwd, folder } = await queueWorld({ ids: ['a', 'b'] });
    worker();
    const stop = new AbortController();
    const running = run({ twice: 1, signal: stop.signal, concurrency: 1 });
    const second = await claimed(queue, [101]);
    stop.abort();
    expect((await running).runs[0]).toMatchObject({ isOpen: true, ok: 0 });
    expect(existsSync(path.join(folder, 'a.json'))).toBe(false);
    expect(await queue.settle([{ claim: second, end: { is: 'handed_back', why: 'too late' } }])).toEqual([]);
    worker();
    const { runs } = await resumeSuite('r1', { cwd, queue, variable: () => undefined });
    expect(runs[0]).toMatchObject({ ok: 2, failed: 0, twice: { chosen: 2, made: 2 } });
    expect(keysSeen(agent)).toEqual(['r1/a/1', 'r1/a/1/2', 'r1/b/1', 'r1/b/1/1']);
    await expectValid(folder);
  });

  test('keeps what was compared before, and chooses the same cases', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const { run, worker, agent, queue, cwd, folder } = await queueWorld({ ids });
    worker();
    worker();
    const stop = new AbortController();
    const running = run({
      twice: 0.5,
      signal: stop.signal,
      concurrency: 2,
      onProgress: ({ done }) => done > 5 && stop.abort(),
    });
    await running;
    await resumeSuite('r1', { cwd, queue, variable: () => undefined });
    const { twice } = requestIn(folder);
    const chosen = ids.filter(id => twice && isChosenTwice(twice, 'r1', id));
    expect(twiceIn(folder)).toMatchObject({ chosen: chosen.length, made: chosen.length, differing: 0 });
    const seen = keysSeen(agent);
    expect(new Set(seen).size).toBe(seen.length);
    await expectValid(folder);
  });

  test('is rebuilt from the queue alone with the same choice, if the conductor has the same key', async () => {
    const { run, worker, agent, baseUrl, queue, cwd, folder } = await queueWorld({ ids: ['a', 'b', 'c', 'd'] });
    const workerKeys = [worker().keyFile, worker().keyFile];
    const signingKey = await newKeyIn(cwd);
    await run({ twice: 0.5, signingKey });
    const asked = agent.seen.length;
    const elsewhere = await queueWorld({ ids: ['a', 'b', 'c', 'd'] });
    await elsewhere.run({ queue, baseUrl, workerKeys, signingKey, twice: 0.5 });
    expect(agent.seen.length).toBe(asked);
    expect(twiceIn(elsewhere.folder)).toEqual(twiceIn(folder));
    await expectValid(elsewhere.folder);
  });
});

/** The path of a new signing key, as a team keeps it outside the run folders. */
async function newKeyIn(cwd: string): Promise<string> {
  const { writeFileSync } = await import('node:fs');
  const { newKeyPair } = await import('../../../src/base/ed25519.ts');
  const file = path.join(cwd, 'conductor.pem');
  writeFileSync(file, newKeyPair().privatePem, { mode: 0o600 });
  return file;
}
