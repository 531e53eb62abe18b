import { readdirSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { Journal } from '../../../src/evidence/run-folder/journal.ts';
import { readRecord } from '../../../src/publish/script-runs.ts';
import type { AttemptClaim } from '../../../src/queue/queue.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import { serve } from '../../../src/serve/serve.ts';
import { stagePublished } from '../../../src/verbs/publish/run-published.ts';
import { publishScript, withdrawVersion } from '../../../src/verbs/publish/publish.ts';
import { OFFER, sentWorld } from './sent-world.ts';

const ORDER = { name: 'echo', by: 'user:ada' };
const SOON = { timeout: 20_000 };

describe('a run that workers may make', () => {
  test('waits for a worker that may run it, and says so', async () => {
    const { server, view, queue, claim } = await sentWorld();
    const runner = server();
    const { run_id: id } = runner.order(ORDER);
    await queue.claim({ ...OFFER, scripts: { digests: [], isAny: false, network: 'open' } }, 1, { waitMs: 0 });
    await expect
      .poll(() => view(runner, id), SOON)
      .toMatchObject({
        state: 'waiting',
        position: 1,
        waits_for: 'a worker that may run this script',
      });
    // A worker of an earlier release does not know such runs.
    const old = { ...OFFER, protocols: [1, 101], scripts: { digests: [], isAny: true, network: 'open' } as const };
    expect(await queue.claim(old, 1, { waitMs: 0 })).toEqual([]);
    expect(await claim()).toBeDefined();
    await expect
      .poll(() => view(runner, id), SOON)
      .toMatchObject({ state: 'running', position: null, waits_for: null });
    expect(view(runner, id).started_at).not.toBeNull();
  });

  test('travels as digests: the version, the inputs and the limits, but not the person', async () => {
    const { server, claimed, store, world } = await sentWorld();
    const { run_id: id } = server().order({ ...ORDER, values: { word: 'moin' } });
    const { claim, request } = await claimed();
    expect(claim.request).toMatchObject({
      key: `${id}/published/1`,
      needs: 'script/process/standard',
      script: { sha256: request.published.digest, network: 'blocked' },
    });
    expect(claim.request.ask).toMatch(/^sha256:/);
    expect(request.files.map(({ path: file }) => file)).toEqual(['run.sh', 'script.yaml']);
    expect(request.inputs.map(({ name }) => name)).toEqual(['inputs.json']);
    expect(JSON.stringify(request)).not.toContain('ada');
    const digests = [...request.files, ...request.inputs].map(({ sha256 }) => sha256 as `sha256:${string}`);
    expect(await store.missing(digests)).toEqual([]);
    expect(readRecord(world.home, id)?.sent).toEqual(request);
  });

  test('can be stopped while it waits, and no worker gets it', async () => {
    const { server, view, ended, claim, queue } = await sentWorld();
    const runner = server();
    const { run_id: id } = runner.order(ORDER);
    await expect.poll(async () => (await queue.overview()).needs[0]?.waiting, SOON).toBe(1);
    expect(runner.cancel(id)).toBe(true);
    expect(await ended(runner, id)).toMatchObject({ state: 'stopped', error_summary: 'The run was cancelled.' });
    expect(await claim(0)).toBeUndefined();
    expect(runner.cancel(id)).toBe(false);
    expect(view(runner, id).operator_note).toBeNull();
  });

  test('can be stopped while a worker makes it, and the worker loses it', async () => {
    const { server, ended, claimed, queue } = await sentWorld();
    const runner = server();
    const { run_id: id } = runner.order(ORDER);
    const { claim } = await claimed();
    runner.cancel(id);
    expect(await ended(runner, id)).toMatchObject({ state: 'stopped' });
    expect(await queue.beat([claim])).toEqual([claim]);
  });

  test('is refused while it waits if its version is withdrawn, and goes on if it has begun', async () => {
    const { server, view, ended, claimed, cwd } = await sentWorld();
    const runner = server();
    const { run_id: begun } = runner.order(ORDER);
    const { claim } = await claimed();
    expect(claim.request.runId).toBe(begun);
    await expect.poll(() => view(runner, begun).state, SOON).toBe('running');
    const { run_id: waiting } = runner.order(ORDER);
    await expect.poll(() => view(runner, waiting).position, SOON).toBe(1);
    await withdrawVersion('echo', '1.0.0', { cwd, by: 'user:admin' });
    expect(await ended(runner, waiting)).toMatchObject({
      state: 'failed',
      error_summary: expect.stringMatching(/withdrawn/) as string,
    });
    expect(view(runner, begun).state).toBe('running');
  });

  test('says that it may have done something if it began just before its version was withdrawn', async () => {
    const { server, view, ended, claim, queue, cwd } = await sentWorld();
    const runner = server();
    const { run_id: id } = runner.order(ORDER);
    await expect.poll(() => view(runner, id).position, SOON).toBe(1);
    const overview = queue.overview.bind(queue);
    queue.overview = async () => {
      // The server has seen the run wait, and has not looked at its version yet.
      queue.overview = overview;
      expect(await claim()).toBeDefined();
      await withdrawVersion('echo', '1.0.0', { cwd, by: 'user:admin' });
      return overview();
    };
    expect(await ended(runner, id)).toMatchObject({
      state: 'lost',
      error_summary: expect.stringMatching(/withdrawn as the run began.*may have done a part/) as string,
      operator_note: expect.stringMatching(/^Worker w1 began the run just before its version was withdrawn/) as string,
    });
  });

  test('is lost with its worker, does not begin again, and tells operators which worker', async () => {
    const { server, ended, claimed, claim, clock, lines } = await sentWorld();
    const runner = server();
    const { run_id: id } = runner.order(ORDER);
    await claimed();
    clock.ms += 31_000;
    expect(await ended(runner, id)).toMatchObject({
      state: 'lost',
      error_summary: expect.stringMatching(/^The machine that ran the script was lost/) as string,
      operator_note: expect.stringMatching(/^Worker w1 began the run at .* and was lost\./) as string,
    });
    expect(await claim(0)).toBeUndefined();
    expect(lines.some(line => line.includes('"worker_lost"'))).toBe(true);
  });

  test('ends as not started if every worker hands it back, and is offered again before', async () => {
    const { server, ended, claimed, queue, clock } = await sentWorld();
    const runner = server();
    const { run_id: id } = runner.order(ORDER);
    let times = 0;
    const why = 'The worker has no \u001b[1msandbox.';
    const handBack = (claim: AttemptClaim) => queue.settle([{ claim, end: { is: 'handed_back', why } }]);
    while (times < 11) {
      const { claim } = await claimed();
      expect(claim.request.runId).toBe(id);
      await handBack(claim);
      times++;
      clock.ms += 1;
    }
    expect(await ended(runner, id)).toMatchObject({
      state: 'failed',
      error_summary: expect.stringMatching(/^No machine could run the script, so it did not start\./) as string,
      operator_note: `Worker w1 was the last to hand the run back: The worker has no \\u{1b}[1msandbox.`,
    });
  }, 60_000);

  test('does not keep another script waiting because no worker may run its version', async () => {
    const { server, world, cwd, view, queue } = await sentWorld();
    const runner = server();
    const stuck = Array.from({ length: 40 }, () => runner.order(ORDER).run_id);
    world.script({ name: 'other' });
    const { digest } = await publishScript('tool', { cwd });
    const { run_id: other } = runner.order({ ...ORDER, name: 'other', by: 'user:bob' });
    const offer = { ...OFFER, scripts: { digests: [digest], isAny: false, network: 'open' } as const };
    const claims: AttemptClaim[] = [];
    await expect
      .poll(async () => {
        claims.push(...(await queue.claim(offer, 1, { waitMs: 0 })));
        return claims.map(({ request }) => request.runId);
      }, SOON)
      .toEqual([other]);
    await expect.poll(() => view(runner, other).state, SOON).toBe('running');
    const states = runner.open().map(({ state }) => state);
    expect(states.filter(state => state === 'running')).toHaveLength(1);
    expect(states.filter(state => state === 'waiting')).toHaveLength(40);
    // The last of them are not offered.
    expect(readRecord(world.home, stuck.at(-1) ?? '')?.sent).toBeUndefined();
  }, 60_000);

  test('is sent later if the disk was full when its record was written', async () => {
    const { server, claimed } = await sentWorld();
    const append = vi.spyOn(Journal.prototype, 'append');
    onTestFinished(() => append.mockRestore());
    const runner = server();
    const { run_id: id } = runner.order(ORDER);
    append.mockImplementationOnce(() => {
      throw new Fault('journal_failed', "The run's journal could not be written: the disk is full.");
    });
    expect((await claimed()).request.run_id).toBe(id);
    expect(append.mock.results.map(({ type }) => type)).toContain('throw');
  });

  test.each(['store_rights', 'store_bucket', 'store_failed'])(
    'waits for the operator while the store says %s',
    async code => {
      const { server, view, store, claimed } = await sentWorld();
      const put = vi.spyOn(store, 'put');
      onTestFinished(() => put.mockRestore());
      put.mockRejectedValueOnce(new Fault(code, 'The store refused a blob.'));
      const runner = server();
      const { run_id: id } = runner.order(ORDER);
      await expect.poll(() => view(runner, id).waits_for, SOON).toMatch(/^the operator of this server/);
      expect(view(runner, id)).toMatchObject({ state: 'waiting', error_summary: null });
      expect((await claimed()).request.run_id).toBe(id);
      await expect.poll(() => view(runner, id).waits_for, SOON).toBeNull();
    },
  );

  test('can be stopped while it cannot be sent, without waiting for the next try', async () => {
    const { server, view, store, ended } = await sentWorld();
    const put = vi.spyOn(store, 'put');
    onTestFinished(() => put.mockRestore());
    put.mockRejectedValue(new Fault('store_rights', 'The store refused a blob.'));
    const runner = server();
    const { run_id: id } = runner.order(ORDER);
    await expect.poll(() => view(runner, id).waits_for, SOON).toMatch(/^the operator/);
    runner.cancel(id);
    expect(await ended(runner, id)).toMatchObject({ state: 'stopped' });
  });

  test('is put into the store with at most one other run at once', async () => {
    const { server, store, queue } = await sentWorld();
    let now = 0;
    let most = 0;
    const put = store.put.bind(store);
    vi.spyOn(store, 'put').mockImplementation(async (...given) => {
      most = Math.max(most, ++now);
      await new Promise(resolve => setImmediate(resolve));
      await put(...given);
      now--;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const runner = server();
    for (let one = 0; one < 8; one++) runner.order({ ...ORDER, by: `user:u${one}` });
    await expect.poll(async () => (await queue.overview()).needs[0]?.waiting, SOON).toBe(8);
    expect(most).toBe(2);
  });

  test('counts against the quota of its token until a worker begins it', async () => {
    const { server, claimed, view } = await sentWorld();
    const runner = server();
    const order = () => runner.order(ORDER, { quotas: { waiting: 1 } }).run_id;
    const id = order();
    expect(order).toThrow('The quota of this token is 1 waiting run.');
    await claimed();
    await expect.poll(() => view(runner, id).state, { timeout: 10_000 }).toBe('running');
    expect(order).not.toThrow();
  });

  test('is refused if a server that ran its scripts itself took a file that workers could not fetch', async () => {
    const { server, ended, world, home } = await sentWorld();
    world.script({ inputs: [{ name: 'data', label: 'Data', kind: 'file' }], version: '1.1.0' });
    await publishScript('tool', { cwd: world.cwd });
    const file = world.file('large', '');
    truncateSync(file, 64 * 1024 ** 2 + 1);
    const { runId } = stagePublished({
      ...ORDER,
      cwd: world.cwd,
      files: [{ field: 'data', name: 'large', bytes: 64 * 1024 ** 2 + 1, file }],
    });
    expect(await ended(server(), runId)).toMatchObject({
      state: 'failed',
      error_summary: expect.stringMatching(/at most 64 MiB/) as string,
    });
    expect(readRecord(home, runId)?.sent).toBeUndefined();
  });

  test('is left to the next server if this one stops before it was sent', async () => {
    const { server, store, home, view } = await sentWorld();
    const put = store.put.bind(store);
    let release = (): void => undefined;
    const released = new Promise<void>(resolve => (release = resolve));
    const puts = vi.spyOn(store, 'put').mockImplementation(async (...given) => {
      await released;
      await put(...given);
    });
    onTestFinished(() => puts.mockRestore());
    const runner = server();
    const ids = [1, 2, 3, 4].map(one => runner.order({ ...ORDER, by: `user:u${one}` }).run_id);
    await expect.poll(() => puts.mock.calls.length, SOON).toBe(2);
    const stopped = runner.stop(0);
    release();
    await stopped;
    const sent = ids.filter(id => readRecord(home, id)?.sent);
    expect(sent).toEqual(ids.slice(0, 2));
    expect(ids.map(id => view(runner, id).state)).toEqual(Array(4).fill('waiting'));
  });

  test('takes no file that workers could not fetch', async () => {
    const { server, world } = await sentWorld();
    const file = world.file('large', '');
    const files = [{ field: 'data', name: 'large', bytes: 64 * 1024 ** 2 + 1, file }];
    expect(() => server().order({ ...ORDER, files })).toThrow('at most 64 MiB');
  });
});

describe('a server that leaves its scripts to workers', () => {
  test.each([
    ['without a queue and a store', /Add --queue and --store to --scripts-on workers/, undefined],
    ['without a key', /Create its key first: proctor keys new/, { queue: new MemoryQueue(), store: 'blobs' }],
  ])('does not start %s', async (_, why, team) => {
    const { cwd } = await sentWorld({ publishes: false });
    const starting = serve({ ...LOCAL, cwd, scriptsOn: 'workers', team });
    await expect(starting).rejects.toThrow(why);
  });
});

const LOCAL = { host: '127.0.0.1', port: 0, drainMs: 0, onLog: () => undefined };

describe('the next server', () => {
  test('goes on with runs that wait and runs that a worker makes, under the same keys', async () => {
    const { server, view, claimed, claim } = await sentWorld();
    const first = server();
    const { run_id: begun } = first.order(ORDER);
    const { claim: one } = await claimed();
    const { run_id: waiting } = first.order(ORDER);
    await expect.poll(() => view(first, waiting).position, SOON).toBe(1);
    await first.stop(0);
    const second = server();
    await expect.poll(() => view(second, begun).state, SOON).toBe('running');
    expect(view(second, waiting).state).toBe('waiting');
    const next = await claim();
    expect([one.request.runId, next?.request.runId]).toEqual([begun, waiting]);
    expect(await claim(0)).toBeUndefined();
  });

  test('stops a run whose user stopped it just before the crash', async () => {
    const { server, view, ended, claimed, queue } = await sentWorld();
    const first = server();
    const { run_id: id } = first.order(ORDER);
    await claimed();
    const withdraw = queue.withdraw.bind(queue);
    queue.withdraw = async () => {
      throw new Fault('queue_unavailable', 'The queue cannot be reached.');
    };
    expect(first.cancel(id)).toBe(true);
    await first.stop(0);
    expect(view(first, id).state).toBe('waiting');
    queue.withdraw = withdraw;
    expect(await ended(server(), id)).toMatchObject({ state: 'stopped' });
  });

  test('never runs itself what an earlier server sent, and says what its operator can do', async () => {
    const { server, view, lines, home } = await sentWorld();
    const first = server();
    const { run_id: id } = first.order(ORDER);
    await expect.poll(() => readRecord(home, id)?.sent, SOON).toBeDefined();
    await first.stop(0);
    const local = server({ isLocal: true });
    expect(view(local, id)).toMatchObject({ state: 'waiting', waits_for: expect.stringMatching(/operator/) as string });
    expect(lines.some(line => line.includes('--scripts-on workers'))).toBe(true);
    expect(readdirSync(path.join(home, 'runs')).flatMap(lane => readdirSync(path.join(home, 'runs', lane)))).toEqual(
      [],
    );
    expect(local.cancel(id)).toBe(false);
  });
});
