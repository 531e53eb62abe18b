import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { newKeyPair } from '../../../src/base/ed25519.ts';
import { Fault } from '../../../src/base/fault.ts';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import type { AttemptRequest, Queue, Settlement } from '../../../src/queue/queue.ts';
import { resumeSuite } from '../../../src/verbs/resume-suite.ts';
import { request } from '../../conformance/queue.ts';
import { temporaryFolder } from '../../support/support.ts';
import { answersWell, answerTo, hangs, json, sending } from './agent.ts';
import { changedQueue, queueWorld } from './queue-world.ts';
import { everythingIn, expectValid } from './support.ts';

const DAY_MS = 86_400_000;

const artifactIn = (folder: string, id: string) =>
  JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact;

const keysSeen = ({ seen }: { seen: readonly { headers: object }[] }) =>
  seen.map(({ headers }) => String((headers as Record<string, string>)['idempotency-key'])).sort();

/** Claims an attempt as a worker that never makes it. */
async function claimed(queue: Queue, worker = 'dead') {
  const offer = { worker, needs: ['http'], slots: 1, version: '0.0.0', protocols: [1] };
  const [claim] = await queue.claim(offer, 1, { waitMs: 10_000 });
  if (!claim) throw new Error('nothing was offered');
  return claim;
}

const settled = async (queue: Queue, end: Settlement['end']) => queue.settle([{ claim: await claimed(queue), end }]);

describe('a queued suite', () => {
  test('is made by workers, and its sealed folder names them', async () => {
    const { run, worker, agent, folder } = await queueWorld();
    worker({ name: 'w1' });
    const { runs } = await run();
    expect(runs[0]).toMatchObject({ isOpen: false, ok: 3, failed: 0 });
    expect(keysSeen(agent)).toEqual(['r1/a/1', 'r1/b/1', 'r1/c/1']);
    const [attempt] = artifactIn(folder, 'a').attempts ?? [];
    expect(attempt).toMatchObject({ worker: 'w1', outcome: 'ok', outcome_sha256: expect.stringMatching(/^sha256:/) });
    await expectValid(folder);
  });

  test('offers at most as many attempts as its concurrency', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `case-${index}`);
    const { run, worker, queue } = await queueWorld({ ids });
    let most = 0;
    const open = new Set<string>();
    const counted = changedQueue(queue, {
      async offer(requests) {
        for (const { key } of requests) open.add(key);
        most = Math.max(most, open.size);
        await queue.offer(requests);
      },
      async outcomes(keys, wait) {
        const known = await queue.outcomes(keys, wait);
        for (const key of known.keys()) open.delete(key);
        return known;
      },
    });
    worker({ slots: 16 });
    expect((await run({ queue: counted, concurrency: 5 })).runs[0]).toMatchObject({ ok: 40 });
    expect(most).toBe(5);
  });

  test('retries a failed attempt under the next key, and keeps both outcomes', async () => {
    const { run, worker, agent, folder } = await queueWorld({
      ids: ['a'],
      behaviours: {
        a: (seen, response, times) => (times === 1 ? json(response, {}, 503) : answersWell(seen, response, times)),
      },
    });
    worker();
    await run();
    expect(keysSeen(agent)).toEqual(['r1/a/1', 'r1/a/2']);
    expect(artifactIn(folder, 'a').attempts).toMatchObject([
      { outcome: 'runner_error', error_class: 'http_error', http_status: 503 },
      { outcome: 'ok' },
    ]);
    expect(readFileSync(path.join(folder, 'assets/outcomes.ndjson'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
    await expectValid(folder);
  });

  test('records an attempt whose worker is lost, and makes another one', async () => {
    const { run, worker, agent, queue, age, folder } = await queueWorld({ ids: ['a'] });
    const running = run();
    await claimed(queue);
    age();
    worker();
    await running;
    expect(keysSeen(agent)).toEqual(['r1/a/2']);
    const [lost, made] = artifactIn(folder, 'a').attempts ?? [];
    expect(lost).toMatchObject({ worker: 'dead', outcome: 'runner_error', error_class: 'other' });
    expect(lost?.note).toMatch(/^Worker dead started the attempt at .* and was lost/);
    expect(lost).not.toHaveProperty('latency_ms');
    expect(made).toMatchObject({ attempt: 2, outcome: 'ok' });
    await expectValid(folder);
  });

  test('ends a case that lost two workers', async () => {
    const { run, agent, queue, folder } = await queueWorld({ ids: ['a'], heartbeatMs: 100 });
    const running = run();
    await claimed(queue);
    await claimed(queue, 'dead too');
    await running;
    expect(artifactIn(folder, 'a').runner_failure).toMatchObject({
      class: 'other',
      error_name: 'LOST_TWICE',
      attempt: 2,
    });
    expect(agent.seen).toEqual([]);
    await expectValid(folder);
  });

  test('makes no second attempt with lost: never', async () => {
    const { run, queue, folder } = await queueWorld({ ids: ['a'], heartbeatMs: 100 });
    const running = run({ lost: 'never' });
    await claimed(queue);
    await running;
    expect(artifactIn(folder, 'a').runner_failure).toMatchObject({ error_name: 'WORKER_LOST', attempt: 1 });
    await expectValid(folder);
  });

  test('offers an attempt that was handed back again under the same key', async () => {
    const warnings: string[] = [];
    const { run, worker, agent, queue, folder } = await queueWorld({ ids: ['a'] });
    const running = run({ onWarning: sentence => warnings.push(sentence) });
    await settled(queue, { is: 'handed_back', why: 'The disk is full.' });
    worker();
    await running;
    expect(keysSeen(agent)).toEqual(['r1/a/1']);
    expect(artifactIn(folder, 'a').attempts).toHaveLength(1);
    expect(warnings).toContain('Worker dead handed an attempt back: The disk is full.');
  });

  test('offers what waits for days again, because a queue may have removed it', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { run, worker, agent, queue } = await queueWorld({ ids: ['a', 'b'] });
    const offered: string[] = [];
    const noting = changedQueue(queue, {
      async offer(requests) {
        await queue.offer(requests);
        offered.push(...requests.map(({ key }) => key));
      },
    });
    const running = run({ queue: noting });
    await expect.poll(() => offered).toEqual(['r1/a/1', 'r1/b/1']);
    await queue.withdraw('r1');
    worker();
    vi.advanceTimersByTime(DAY_MS);
    expect((await running).runs[0]).toMatchObject({ ok: 2 });
    expect(keysSeen(agent)).toEqual(['r1/a/1', 'r1/b/1']);
    expect(offered).toHaveLength(4);
  });

  test('goes on after an outage of the queue', async () => {
    const { run, worker, queue, folder } = await queueWorld({ ids: ['a'] });
    let failures = 4;
    const isAway = (): boolean => failures-- > 0;
    const away = new Fault('queue_unavailable', 'The queue cannot be reached.');
    const flaky = changedQueue(queue, {
      offer: requests => (isAway() ? Promise.reject(away) : queue.offer(requests)),
      outcomes: (keys, wait) => (wait.waitMs > 0 && isAway() ? Promise.reject(away) : queue.outcomes(keys, wait)),
    });
    worker();
    await run({ queue: flaky });
    expect(failures).toBeLessThanOrEqual(0);
    expect(artifactIn(folder, 'a').status).toBe('ok');
  });
});

describe('a queued suite that stops', () => {
  test('withdraws its attempts when it is cancelled, and makes them again when it is resumed', async () => {
    const closed: string[] = [];
    const { run, worker, agent, queue, cwd, folder } = await queueWorld({
      ids: ['a', 'b'],
      behaviours: {
        a: (seen, response, times) => {
          response.on('close', () => closed.push('a'));
          if (times === 1) hangs(seen, response, times);
          else answersWell(seen, response, times);
        },
      },
    });
    worker();
    const stop = new AbortController();
    const running = run({ signal: stop.signal, retries: 0 });
    await expect.poll(() => [agent.times('a'), existsSync(path.join(folder, 'b.json'))]).toEqual([1, true]);
    stop.abort();
    expect((await running).runs[0]).toMatchObject({ isOpen: true, ok: 1 });
    await expect.poll(() => closed).toEqual(['a']);
    const resumed = await resumeSuite('r1', { cwd, queue, variable: () => undefined });
    expect(resumed.runs[0]).toMatchObject({ isOpen: false, ok: 2, failed: 0 });
    expect(keysSeen(agent)).toEqual(['r1/a/1', 'r1/a/2', 'r1/b/1']);
    const [first] = artifactIn(folder, 'a').attempts ?? [];
    expect(first).toMatchObject({ outcome: 'runner_error', error_class: 'other' });
    await expectValid(folder);
  });

  test('offers a pending attempt again under the same key, however often it stops', async () => {
    const { run, worker, agent, queue, cwd, folder } = await queueWorld({ ids: ['a'] });
    // The conductor dies before the queue has the attempt, and cannot withdraw it.
    const dying = changedQueue(queue, {
      offer: () => Promise.reject(new Error('killed')),
      withdraw: () => Promise.resolve(),
    });
    await expect(run({ queue: dying })).rejects.toThrow('killed');
    const options = { cwd, variable: () => undefined };
    await expect(resumeSuite('r1', { ...options, queue: dying })).rejects.toThrow('killed');
    worker();
    await resumeSuite('r1', { ...options, queue });
    expect(keysSeen(agent)).toEqual(['r1/a/1']);
    expect(artifactIn(folder, 'a').attempts).toMatchObject([{ attempt: 1, outcome: 'ok' }]);
    await expectValid(folder);
  });

  test('is not resumed without its queue, because workers may still make its attempts', async () => {
    const { run, queue, cwd } = await queueWorld({ ids: ['a'] });
    const stop = new AbortController();
    const running = run({ signal: stop.signal });
    await claimed(queue);
    stop.abort();
    await running;
    await expect(resumeSuite('r1', { cwd, variable: () => undefined })).rejects.toThrow(/Specify their queue/);
  });

  test('is rebuilt from the queue alone, without a request, if the keys of the workers are known', async () => {
    const { run, worker, agent, baseUrl, queue } = await queueWorld();
    const { keyFile } = worker();
    await run();
    const asked = agent.seen.length;
    const elsewhere = await queueWorld();
    const again = { queue, baseUrl } as const;
    await expect(elsewhere.run(again)).rejects.toThrow(/already has attempts of a run called r1/);
    expect(existsSync(elsewhere.folder)).toBe(false);
    const { runs } = await elsewhere.run({ ...again, workerKeys: [keyFile] });
    expect(runs[0]).toMatchObject({ isOpen: false, ok: 3 });
    expect(agent.seen.length).toBe(asked);
    await expectValid(elsewhere.folder);
  });
});

test('a new run is refused while a worker still makes an attempt of its name', async () => {
  const { run, queue, folder } = await queueWorld({ ids: ['a'] });
  await queue.offer([request('a', { runId: 'r1' })]);
  await claimed(queue);
  await expect(run()).rejects.toThrow('The queue already has attempts of a run called r1.');
  expect(existsSync(folder)).toBe(false);
});

describe('the outcome of a worker', () => {
  test('is refused if it is not a report, and the attempt is made again', async () => {
    const { run, worker, agent, queue, folder } = await queueWorld({ ids: ['a'] });
    const running = run();
    await settled(queue, { is: 'reported', report: '{"schema_version":"attempt-report.v1"}' });
    worker();
    await running;
    expect(keysSeen(agent)).toEqual(['r1/a/2']);
    expect(artifactIn(folder, 'a').attempts?.[0]?.note).toBe(
      'Proctor refused the outcome of worker dead: it is not a report.',
    );
    await expectValid(folder);
  });

  test('is refused if a key that is not trusted signed it', async () => {
    const { run, worker, folder } = await queueWorld({ ids: ['a'] });
    const trusted = worker({ name: 'trusted' });
    trusted.stop();
    await trusted.ended;
    worker({ name: 'other' });
    await run({ workerKeys: [trusted.keyFile], retries: 0 });
    expect(artifactIn(folder, 'a').runner_failure).toMatchObject({
      error_name: 'OUTCOME_REFUSED',
      error_message: expect.stringContaining('signed with a key that is not trusted'),
    });
  });

  test.each([
    ['another case', (report: string) => report.replace('"utf8"', '"base64"'), 'its reply has another hash'],
    ['another signature', (report: string) => report.replace(/"sig":"../, '"sig":"AA'), 'its signature is not valid'],
    [
      'no outcome',
      (report: string) => report.replace('"payloadType"', '"payload_type"'),
      'its outcome breaks a rule of attempt-outcome.v1',
    ],
  ])('is refused with %s', async (_, change, why) => {
    const { run, worker, queue, folder } = await queueWorld({ ids: ['a'] });
    worker({
      queue: changedQueue(queue, {
        settle: settlements =>
          queue.settle(
            settlements.map(({ claim, end }) => ({
              claim,
              end: end.is === 'reported' ? { is: 'reported', report: change(end.report) } : end,
            })),
          ),
      }),
    });
    await run({ retries: 0 });
    expect(artifactIn(folder, 'a').runner_failure?.error_message).toContain(why);
    await expectValid(folder);
  });

  test('has its reply in the store if it is large, and needs one', async () => {
    const large = (seen: Parameters<typeof answerTo>[0], response: Parameters<typeof json>[0]) =>
      json(response, answerTo(seen, { final_output: { content_type: 'text', content: 'x'.repeat(100_000) } }));
    const { run, worker, folder } = await queueWorld({ ids: ['a'], behaviours: { a: large } });
    const store = temporaryFolder();
    const first = worker({ store });
    await run({ store });
    expect(artifactIn(folder, 'a').status).toBe('ok');
    await expectValid(folder);
    first.stop();
    await first.ended;
    worker();
    const { runs } = await run({ runId: 'r2' });
    expect(runs[0]).toMatchObject({ failed: 1, troubles: [{ message: expect.stringContaining('--store') }] });
  });

  test('has the body of a failed attempt, also if it is not text', async () => {
    const { run, worker, folder } = await queueWorld({
      ids: ['a'],
      behaviours: { a: sending(Buffer.from([0xff, 0xfe, 0, 1]), {}, 500) },
    });
    worker();
    await run({ retries: 0 });
    expect(readFileSync(path.join(folder, 'assets/a.1.body'))).toEqual(Buffer.from([0xff, 0xfe, 0, 1]));
    await expectValid(folder);
  });
});

describe('secrets in a queue', () => {
  const TOKEN = 'tok-7f3a9b2c4d5e6f70';
  const headers = [{ name: 'authorization', env: 'AGENT_TOKEN', value: TOKEN }];

  test('are names only: the worker has the value, and masks it', async () => {
    const offered: AttemptRequest[] = [];
    const { run, worker, agent, queue, folder, cwd, baseUrl } = await queueWorld({
      ids: ['a'],
      behaviours: {
        a: (seen, response) =>
          json(
            response,
            answerTo(seen, { final_output: { content_type: 'text', content: seen.headers.authorization } }),
          ),
      },
    });
    const watched = changedQueue(queue, {
      offer: requests => {
        offered.push(...requests);
        return queue.offer(requests);
      },
    });
    worker();
    const { events } = worker({ secrets: { AGENT_TOKEN: TOKEN }, allowTargets: [new URL(baseUrl).origin] });
    await run({ queue: watched, headers });
    expect(events).toContainEqual({ is: 'settled', key: 'r1/a/1', end: 'reported' });
    expect(agent.seen[0]?.headers.authorization).toBe(TOKEN);
    expect(offered.map(({ needs }) => needs)).toEqual(['http+AGENT_TOKEN']);
    expect(JSON.stringify(offered)).not.toContain(TOKEN);
    expect(everythingIn(path.join(cwd, '.proctor'))).not.toContain(TOKEN);
    await expectValid(folder);
  });
});

describe('a queue refuses', () => {
  test.each([
    ['a script', { baseUrl: undefined, script: 'agent.py' }],
    ['a URL with a query', { baseUrl: 'http://127.0.0.1:1/?token=1' }],
  ])('%s', async (_, over) => {
    const { run } = await queueWorld({ ids: ['a'] });
    await expect(run(over as object)).rejects.toThrow();
  });

  test.each([
    [
      'missing.pub',
      'does not exist, or is not a file of at most 64 KiB that you can read. Copy .proctor/keys/signing.pub',
    ],
    ['.', 'does not exist, or is not a file'],
    ['', 'does not exist, or is not a file'],
    ['keys/../notes.txt', 'is not an Ed25519 public key in PEM format, which is one line of base64 between -----BEGIN'],
    ['own.key', 'is a private key. Keep it secret, and name its .pub file instead.'],
  ])('the worker key %j, under the name that the user gave it, before anything is written', async (file, why) => {
    const { run, cwd, folder } = await queueWorld();
    mkdirSync(path.join(cwd, 'keys'));
    writeFileSync(path.join(cwd, 'notes.txt'), 'ssh-ed25519 AAAA you@example\n');
    writeFileSync(path.join(cwd, 'own.key'), newKeyPair().privatePem);
    await expect(run({ workerKeys: [file] })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(`The worker key ${file || 'without a name'} ${why}`) as string,
    });
    expect(existsSync(folder)).toBe(false);
  });

  test('options that need a queue, and unknown slots', async () => {
    const { run } = await queueWorld({ ids: ['a'] });
    await expect(run({ queue: undefined as never, lost: 'never' })).rejects.toThrow('--lost requires a queue');
    await expect(run({ targetSlots: 3 })).rejects.toThrow('The slots of a target must be one of 1, 2, 4');
  });
});
