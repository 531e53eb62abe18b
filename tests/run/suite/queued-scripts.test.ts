import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import type { RunSuiteOptions } from '../../../src/verbs/run-suite.ts';
import type { WorkerOptions } from '../../../src/verbs/worker.ts';
import { changedQueue } from './queue-world.ts';
import { scriptWorld } from './queued-scripts-world.ts';
import { expectValid } from './support.ts';

afterAll(closeLauncher);

/** Two cores shared with other tests. */
const POLL = { timeout: 20_000 };

describe('a suite of scripts that workers run', () => {
  test('has the same answers as in one process, and evidence that verifies', async () => {
    const world = scriptWorld(['hello', 'file', 'crash', 'garbage']);
    const { events, cwd } = world.worker({ name: 'w1' });
    const { runs } = await world.run();
    expect(runs[0]).toMatchObject({ isOpen: false, ok: 2, failed: 2 });
    const sent = world.sentRuns();
    const alone = await world.alone();
    for (const id of world.ids) {
      const { final_output, runner_failure, attempts } = world.artifact(id);
      const local = alone.artifact(id);
      expect(final_output).toEqual(local.final_output);
      expect({ ...runner_failure, latency_ms: 0 }).toEqual({ ...local.runner_failure, latency_ms: 0 });
      expect(attempts).toMatchObject([{ worker: 'w1', run_id: expect.stringMatching(/^script_/) as string }]);
    }
    await expectValid(world.folder);
    expect(sent).toHaveLength(4);
    for (const folder of sent) await expectValid(folder);
    expect(events.filter(({ is }) => is === 'settled')).toHaveLength(4);
    const outcomes = readFileSync(path.join(world.folder, 'assets', 'outcomes.ndjson'), 'utf8');
    expect(outcomes.trim().split('\n')).toHaveLength(4);
    // The worker keeps no run that the conductor has.
    expect(readdirSync(path.join(cwd, '.proctor', 'workers', 'w1', 'runs', 'script'))).toEqual([]);
  });

  test('masks what the script prints of a secret, on the worker', async () => {
    const world = scriptWorld(['hello']);
    const secrets = { SECRET_WORD: 'swordfish-9-swordfish' };
    world.worker({ secrets, allowTargets: ['https://api.example'] });
    await world.run({ secrets });
    const { final_output, attempts } = world.artifact('hello');
    expect(JSON.stringify(final_output)).not.toContain('swordfish');
    expect(attempts?.[0]?.outcome).toBe('ok');
    await expectValid(world.folder);
  });

  test('takes a run over again after a crash of the conductor, also if it was only partly written', async () => {
    const world = scriptWorld(['hello', 'file']);
    const { keyFile } = world.worker({ name: 'w1' });
    await world.run();
    const sent = world.sentRuns().sort((a, b) => (a < b ? -1 : 1));
    // The suite is gone, and so is one of the runs. A part of it is left.
    const home = path.join(world.cwd, '.proctor');
    for (const name of readdirSync(home)) if (name !== 'attempts') rmSync(path.join(home, name), { recursive: true });
    renameSync(sent[0] as string, path.join(world.attempts, `.${path.basename(sent[0] as string)}.0123456789ab.tmp`));
    await world.run({ workerKeys: [keyFile] });
    expect(world.sentRuns().sort((a, b) => (a < b ? -1 : 1))).toEqual(sent);
    for (const id of world.ids) expect(world.artifact(id).attempts).toMatchObject([{ attempt: 1, outcome: 'ok' }]);
    await expectValid(world.folder);
  });

  test('needs a store and no second attempts, and says so before anything is written', async () => {
    const world = scriptWorld(['hello']);
    const { store: _, ...base } = { store: '', queue: world.queue, cases: 'cases.jsonl', as: 'new' as const };
    const { runSuite } = await import('../../../src/verbs/run-suite.ts');
    await expect(runSuite({ ...base, script: 'agent.py', cwd: world.cwd })).rejects.toThrow(
      /reach the workers through a store\. Add --store/,
    );
    await expect(world.run({ twice: 1 })).rejects.toThrow('Attempts of a script cannot be made twice. Omit --twice.');
    expect(existsSync(path.join(world.cwd, '.proctor', 'runs'))).toBe(false);
  });
});

describe('a script on a worker', () => {
  const slow = 'import time\ntime.sleep(60)\n';

  test('ends when its run is withdrawn, and leaves nothing on the worker', async () => {
    const world = scriptWorld(['a'], { script: slow, heartbeatMs: 400 });
    const { events, cwd } = world.worker({ name: 'w1' });
    const stop = new AbortController();
    const running = world.run({ signal: stop.signal });
    const runs = path.join(cwd, '.proctor', 'workers', 'w1', 'runs', 'script');
    await expect.poll(() => (existsSync(runs) ? readdirSync(runs) : []), POLL).toHaveLength(1);
    stop.abort();
    await running;
    await expect.poll(() => events, POLL).toContainEqual({ is: 'lost', key: 'r1/a/1', isSpooled: false });
    expect(readdirSync(runs)).toEqual([]);
  });

  test('is reported as stopped if it takes longer than the drain allows', async () => {
    const world = scriptWorld(['a'], { script: slow });
    const first = world.worker({ name: 'w1', drainMs: 20 });
    const running = world.run({ retries: 0 });
    const runs = path.join(first.cwd, '.proctor', 'workers', 'w1', 'runs', 'script');
    await expect.poll(() => (existsSync(runs) ? readdirSync(runs) : []), POLL).toHaveLength(1);
    first.stop();
    await first.ended;
    await running;
    expect(world.artifact('a').runner_failure).toMatchObject({ class: 'other', error_name: 'WORKER_STOPPED' });
    await expectValid(world.folder);
  });
});

describe('workers that allow different scripts', () => {
  test('leave a script to the worker that allows it, and hand nothing back', async () => {
    const world = scriptWorld(['a', 'b', 'c']);
    const others = ['w1', 'w2'].map(name => world.worker({ name, slots: 8, allowScripts: ['0'.repeat(64)] }));
    const warnings: string[] = [];
    const running = world.run({ onWarning: sentence => warnings.push(sentence) });
    const own = world.worker({ name: 'w3' });
    await running;
    for (const id of world.ids)
      expect(world.artifact(id).attempts).toMatchObject([{ attempt: 1, outcome: 'ok', worker: 'w3' }]);
    for (const { events } of others) expect(events).toEqual([]);
    expect(own.events.filter(({ is }) => is === 'settled')).toHaveLength(3);
    expect(warnings).toEqual([]);
  });
});

/** What a worker says when it hands an attempt back that a conductor of an earlier release offered. */
async function handedBack(
  world: ReturnType<typeof scriptWorld>,
  worker: Partial<WorkerOptions>,
  run: Partial<RunSuiteOptions> = {},
): Promise<string> {
  const stop = new AbortController();
  const { events } = world.worker({ name: 'w1', ...worker });
  let said = '';
  const queue = changedQueue(world.queue, {
    offer: requests =>
      world.queue.offer(
        requests.map(one => {
          const { script: _, ...earlier } = one;
          return earlier;
        }),
      ),
    async outcomes(keys, wait) {
      const known = await world.queue.outcomes(keys, wait);
      for (const outcome of known.values()) if (outcome.is === 'handed_back') said = outcome.why;
      if (said !== '') stop.abort();
      return known;
    },
  });
  await world.run({ queue, signal: stop.signal, ...run });
  expect(events.filter(({ is }) => is === 'unable')).toEqual([]);
  return said;
}

describe('a worker hands back a script', () => {
  test('that its operator did not allow', async () => {
    const world = scriptWorld(['hello']);
    expect(await handedBack(world, { allowScripts: ['0'.repeat(64)] })).toMatch(
      /^This worker may not run this script\. Allow it with --allow-script/,
    );
  });

  test('that wants a secret, if any script may run', async () => {
    const world = scriptWorld(['hello']);
    const secrets = { SECRET_WORD: 'swordfish-9-swordfish' };
    const allowed = { secrets, allowTargets: ['https://api.example'], allowScripts: ['any', '0'.repeat(64)] };
    expect(await handedBack(world, allowed, { secrets })).toMatch(
      /^This worker allows any script, but only without secrets/,
    );
  });

  const OPEN = {
    name: 'open',
    allow_network: true,
    timeout_ms: 60_000,
    max_output_files: 10,
    max_total_output_bytes: 1_000_000,
    allowed_commands: [],
    allowed_write_roots: [],
  };

  test('that wants a network, if any script may run', async () => {
    const said = await handedBack(scriptWorld(['hello']), { allowScripts: ['any'] }, { bounds: { profile: OPEN } });
    expect(said).toMatch(/only without secrets and without a network/);
  });

  test('that wants a network, if the worker is limited to some targets', async () => {
    const worker = { allowTargets: ['https://api.example'] };
    const said = await handedBack(scriptWorld(['hello']), worker, { bounds: { profile: OPEN } });
    expect(said).toMatch(/which would bypass --allow-target/);
  });

  test('whose request asks for a sandbox that it does not name, and goes on with others', async () => {
    const world = scriptWorld(['hello']);
    const forging = changedQueue(world.queue, {
      offer: requests =>
        world.queue.offer(
          requests.map(one => ({ ...one, ask: one.ask.replaceAll('"sandbox":"process"', '"sandbox":"vm"') })),
        ),
    });
    const stop = new AbortController();
    const { events } = world.worker({ name: 'w1' });
    const warnings: string[] = [];
    const onWarning = (sentence: string): void => {
      warnings.push(sentence);
      stop.abort();
    };
    await world.run({ queue: forging, signal: stop.signal, onWarning });
    expect(warnings.join()).toMatch(/handed an attempt back: The attempt/);
    expect(events.filter(({ is }) => is === 'unable')).toEqual([]);
  });

  test('whose bytes were exchanged in the store', async () => {
    const world = scriptWorld(['hello']);
    const file = path.join(world.store, world.sha256.slice(0, 2), world.sha256);
    const offering = changedQueue(world.queue, {
      async offer(requests) {
        writeFileSync(file, 'print("evil")');
        await world.queue.offer(requests);
      },
    });
    const stop = new AbortController();
    const { events, cwd } = world.worker({ name: 'w1' });
    const warnings: string[] = [];
    const onWarning = (sentence: string): void => {
      warnings.push(sentence);
      stop.abort();
    };
    await world.run({ queue: offering, signal: stop.signal, onWarning });
    expect(warnings.join()).toMatch(/handed an attempt back: The bytes of the blob do not have its digest/);
    expect(events.filter(({ is }) => is === 'unable')).toEqual([]);
    expect(existsSync(path.join(cwd, '.proctor', 'workers', 'w1', 'scripts'))).toBe(false);
  });
});
