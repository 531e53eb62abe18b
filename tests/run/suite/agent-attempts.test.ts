import { expect, test } from 'vitest';
import { contentHash } from '../../../src/base/hash.ts';
import { blobsOfAttempt, unsentKey } from '../../../src/contracts/attempt-request/index.ts';
import {
  type SuiteCase,
  suiteRequest,
  type SuiteRequest,
  type SuiteTarget,
} from '../../../src/contracts/suite/index.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import type { AttemptRequest } from '../../../src/queue/queue.ts';
import { assertRequest } from '../../../src/queue/requests.ts';
import { agentNeeds, attemptNeeds, QuestionWriter, readQuestion } from '../../../src/run/suite/attempt-question.ts';
import { queuedTarget } from '../../../src/run/suite/queued-target.ts';
import { changedQueue } from './queue-world.ts';

const digest = (text: string): string => contentHash(text);

const TARGET: Extract<SuiteTarget, { kind: 'agent' }> = {
  kind: 'agent',
  name: 'claude',
  version: '2.1.325',
  sha256: digest('program'),
  policy: 'edit',
  policy_sha256: digest('policy'),
  sandbox: 'process',
  isolation: 'strict',
  prices_sha256: digest('prices'),
};

const request: SuiteRequest = {
  ...(suiteRequest.example as SuiteRequest),
  run_id: 'r1',
  target: TARGET,
  target_sha256: contentHash(TARGET),
  secret_names: [],
};
const agentTree = { sha256: digest('tree'), bytes: 337, commit: 'a'.repeat(40) };
const plan = { request, headers: [], bounds: {}, agentTree };
const one = { schema_version: 'suite-case.v1', id: 'a', input: { user: 'Fix it.' } } as SuiteCase;

test('the request for an agent names its tree, its policy and its prices, and nothing of this machine', async () => {
  const text = new QuestionWriter(plan).write(one, 1, 'r1/a/1');
  const question = await readQuestion(text, undefined);
  expect(question.agent).toEqual({ tree: agentTree });
  expect(blobsOfAttempt(text)).toEqual([TARGET.policy_sha256, TARGET.prices_sha256, agentTree.sha256]);
});

test('a hostile request names no blob that is not a digest', () => {
  for (const agent of [null, 7, [], { tree: null }, { tree: { sha256: '../x' } }])
    expect(blobsOfAttempt(JSON.stringify({ target: { kind: 'agent', policy_sha256: {} }, agent }))).toEqual([]);
  expect(blobsOfAttempt(JSON.stringify({ target: { kind: 'http', sha256: digest('x') } }))).toEqual([]);
});

test('a case names no files of the conductor', () => {
  expect(unsentKey({ ...one, limits: { timeout: '5m' }, model: 'm' })).toBeUndefined();
  expect(unsentKey({ ...one, checks: [{ command: 'npm test' }] })).toBeUndefined();
  expect(unsentKey({ ...one, checks: [{ command: 'npm test', overlay: 'hidden' }] })).toBe('overlay');
  expect(unsentKey({ ...one, checks: [null, 7] as never })).toBeUndefined();
  for (const key of ['dir', 'repository', 'ref', 'files', 'setup', 'mounts', 'policy', 'agent'])
    expect(unsentKey({ ...one, [key]: 'x' })).toBe(key);
});

const offered = (over: Partial<AttemptRequest> = {}): AttemptRequest => ({
  key: 'r1/a/1',
  runId: 'r1',
  protocol: 1,
  needs: attemptNeeds(request),
  priority: 0,
  timeoutMs: 60_000,
  ask: '{}',
  ...over,
});

test('the needs of an agent are its name, version, isolation and program', () => {
  expect(attemptNeeds(request)).toBe(`agent/claude/2.1.325/strict/${TARGET.sha256}`);
  const odd = agentNeeds({ ...TARGET, version: `1.0+build ü ${'9'.repeat(300)}` });
  expect(odd).toMatch(/^agent\/claude\/1\.0_build___9+\/strict\/sha256:/);
  expect(() => assertRequest(offered({ needs: odd }))).not.toThrow();
});

test('workers of the release before, and workers with another version, never get an agent', async () => {
  const queue = new MemoryQueue();
  await queue.offer([offered()]);
  const worker = { worker: 'w', protocols: [1, 101], slots: 4, version: '0' };
  const needs = ['http', 'script/process/strict', 'script/process/standard', 'script/none/none'];
  const everything = { digests: [TARGET.sha256], isAny: true, network: 'open' } as const;
  expect(await queue.claim({ ...worker, needs }, 4, { waitMs: 0 })).toEqual([]);
  expect(await queue.claim({ ...worker, needs, scripts: everything }, 4, { waitMs: 0 })).toEqual([]);
  const others = [
    { ...TARGET, version: '2.1.324' },
    { ...TARGET, sha256: digest('other') },
    { ...TARGET, isolation: 'standard' as const },
  ];
  expect(await queue.claim({ ...worker, needs: others.map(agentNeeds) }, 4, { waitMs: 0 })).toEqual([]);
  expect(await queue.claim({ ...worker, needs: [agentNeeds(TARGET)] }, 4, { waitMs: 0 })).toHaveLength(1);
});

test('an attempt may take as long as its case allows', async () => {
  const seen: AttemptRequest[] = [];
  const memory = new MemoryQueue();
  const queue = changedQueue(memory, {
    async offer(requests) {
      seen.push(...requests);
    },
  });
  const run = { queue, plan, side: 'new', bodyBytesMax: 1, lost: 'again', priority: 0 } as const;
  const read = (): never => {
    throw new Error('nothing to read');
  };
  const target = queuedTarget({ ...run, read });
  const stop = new AbortController();
  const checks = [{ command: 'true', timeout: '1m' }, { command: 'true' }];
  const cases = [one, { ...one, id: 'b', limits: { timeout: '90m' } }, { ...one, id: 'c', checks }];
  const asked = cases.map(each => target.ask({ one: each, attempt: 1, key: `r1/${each.id}/1`, signal: stop.signal }));
  await expect.poll(() => seen.length).toBe(3);
  target.cancel();
  await Promise.all(asked);
  await target.close();
  const timeouts = new Map(seen.map(({ key, timeoutMs }) => [key, timeoutMs]));
  expect(timeouts.get('r1/a/1')).toBe(request.settings.timeout_ms + 600_000);
  expect(timeouts.get('r1/b/1')).toBe(5_400_000 + 600_000);
  expect(timeouts.get('r1/c/1')).toBe(request.settings.timeout_ms + 2 * (60_000 + 300_000) + 600_000);
});
