import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CaseArtifact, RunArtifact } from '../../src/contracts/artifacts/index.ts';
import { Place, smallHome, type Started, until } from '../support/runs.ts';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { expectValid } from '../run/suite/support.ts';

const CASES = 120;

/** A project with a suite and a slow agent. With `isHeld`, the agent answers only once it is released. */
async function world({ repeat = 1, delayMs = 15, cases = CASES, isHeld = false } = {}) {
  const place = new Place();
  onTestFinished(() => place.remove());
  let release = (): void => undefined;
  const released = isHeld ? new Promise<void>(resolve => (release = resolve)) : Promise.resolve();
  const slowly: typeof answersWell = (seen, response, times) =>
    void released.then(() => setTimeout(() => answersWell(seen, response, times), delayMs));
  const ids = Array.from({ length: cases }, (_, index) => `case-${index}`);
  const agent = new Agent(Object.fromEntries(ids.map(id => [id, slowly])));
  place.file('cases.jsonl', ids.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join(''));
  const baseUrl = await agent.start();
  const args = ['run', 'suite', 'cases.jsonl', '--base-url', baseUrl, '--as', 'new', '--run-id', 'r1'];
  const folder = path.join(place.cwd, '.proctor', 'runs', 'new', 'r1');
  const start = (words: readonly string[] = []) =>
    place.start([...args, '--concurrency', '8', '--repeat', String(repeat), ...words]);
  return { place, agent, ids, folder, start, release };
}

/** The finished cases in the journal of a run. */
function finishedIn(folder: string): string[] {
  return readFileSync(path.join(folder, 'journal.ndjson'), 'utf8')
    .split('\n')
    .flatMap(line => /^\{"is":"case","id":"([^"]+)".*\}\t\S{43}$/.exec(line)?.[1] ?? []);
}

const artifactIn = (folder: string, id: string) =>
  JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact;

async function killed(run: Started): Promise<void> {
  run.kill('SIGKILL');
  await run.ended;
}

/** A kill during the evaluation leaves a partial file, which the verifier says to delete. */
async function withoutParts(place: Place, folder: string): Promise<void> {
  const names = readdirSync(folder);
  const isHalf = names.includes('evaluation.json') && !names.includes('evaluation.seal.json');
  if (isHalf) rmSync(path.join(folder, 'evaluation.json'));
  for (const name of names.filter(entry => /^\.evaluation(?:\.seal)?\.json\./.test(entry))) {
    rmSync(path.join(folder, name));
  }
  expect((await place.start(['recover']).ended).code).toBe(0);
}

describe('a killed suite', () => {
  test('loses no file that a thread was writing', async () => {
    const { place, agent, ids, folder, start } = await world({ delayMs: 1, cases: 2_500 });
    let run = start(['--concurrency', '32']);
    for (const count of [900, 1_700]) {
      await until('enough cases were sent', () => agent.seen.length > count, 300_000);
      await killed(run);
      expect(finishedIn(folder).length).toBeGreaterThan(512);
      run = place.start(['run', 'suite', '--resume', 'r1']);
    }
    expect((await run.ended).code).toBe(0);
    for (const id of ids) expect(artifactIn(folder, id).status, id).toBe('ok');
    await expectValid(folder);
  });

  test('resumes from any moment: no finished case is lost or repeated, and every request is recorded', async () => {
    const { place, agent, ids, folder, start } = await world();
    let run = start();
    for (const share of [0.1, 0.3, 0.6, 0.8]) {
      await until('enough cases were sent', () => agent.seen.length > share * CASES);
      await killed(run);
      const finished = finishedIn(folder);
      const asked = new Map(finished.map(id => [id, agent.times(id)]));
      run = place.start(['run', 'suite', '--resume', 'r1']);
      await until('enough cases were sent', () => agent.seen.length > (share + 0.1) * CASES);
      for (const [id, times] of asked) expect(agent.times(id), id).toBe(times);
    }
    expect((await run.ended).code).toBe(0);
    const keysOf = (id: string) =>
      agent.seen.filter(({ caseId }) => caseId === id).map(({ headers }) => headers['idempotency-key']);
    for (const id of ids) {
      const { status, attempts = [] } = artifactIn(folder, id);
      expect(status, id).toBe('ok');
      // A recorded request may never have been sent, but every sent one is recorded.
      const noted = attempts.map(({ idempotency_key }) => idempotency_key);
      for (const key of keysOf(id)) expect(noted, id).toContain(key);
      expect(attempts.map(({ attempt }) => attempt)).toEqual(attempts.map((_, index) => index + 1));
    }
    const interrupted = ids
      .flatMap(id => artifactIn(folder, id).attempts ?? [])
      .filter(({ error_class }) => error_class);
    expect(interrupted.length).toBeGreaterThan(0);
    for (const { error_class, note } of interrupted) {
      expect(error_class).toBe('other');
      expect(note).toContain('interrupted');
    }
    await expectValid(folder);
  });

  test('is only sealed if all its cases were answered', async () => {
    const { place, agent, folder, start } = await world();
    const run = start();
    await until('enough cases were sent', () => agent.seen.length >= CASES);
    await killed(run);
    if (!existsSync(path.join(folder, 'journal.ndjson'))) return;
    const { code, stderr } = await place.start(['run', 'suite', '--resume', 'r1']).ended;
    expect(code, stderr).toBe(0);
    await expectValid(folder);
  });

  test('is judged if it died after its seal, but only while it is as it was sealed', async () => {
    const { place, folder, start } = await world({ cases: 4, delayMs: 0 });
    expect((await start().ended).code).toBe(0);
    const lose = (): void => {
      for (const name of ['evaluation.json', 'evaluation.seal.json']) rmSync(path.join(folder, name));
    };
    lose();
    const again = await place.start(['run', 'suite', '--resume', 'r1']).ended;
    expect(again.code, again.stderr).toBe(0);
    expect(existsSync(path.join(folder, 'evaluation.seal.json'))).toBe(true);
    await expectValid(folder);
    lose();
    writeFileSync(path.join(folder, 'case-1.json'), '{}');
    const changed = await place.start(['run', 'suite', '--resume', 'r1']).ended;
    expect([changed.code, changed.stderr]).toEqual([2, expect.stringContaining('case-1.json')]);
    expect(existsSync(path.join(folder, 'evaluation.json'))).toBe(false);
  });

  test('keeps every case in its journal, even if the machine lost unsynced data', async () => {
    const { place, agent, folder, start } = await world();
    const run = start();
    await until('enough cases were sent', () => agent.seen.length > CASES / 2);
    await killed(run);
    const finished = finishedIn(folder);
    const [first, second, third] = finished as [string, string, string];
    rmSync(path.join(folder, `${first}.json`));
    truncateSync(path.join(folder, `${second}.json`), 10);
    writeFileSync(path.join(folder, `${third}.json.tmp`), 'half');
    const journal = path.join(folder, 'journal.ndjson');
    writeFileSync(journal, `${readFileSync(journal, 'utf8').trimEnd()}\n{"is":"case","id":"torn`);
    writeFileSync(path.join(folder, 'assets', 'case-1.1.body'), 'stored before the journal could name it');
    expect((await place.start(['run', 'suite', '--resume', 'r1']).ended).code).toBe(0);
    expect(artifactIn(folder, first).status).toBe('ok');
    for (const id of finished) expect(agent.times(id), id).toBe(1);
    await expectValid(folder);
  });

  test('resumes all its repetitions', async () => {
    const { place, agent, folder, start } = await world({ repeat: 3 });
    const run = start();
    await until('enough cases were sent', () => agent.seen.length > 1.5 * CASES);
    await killed(run);
    expect((await place.start(['run', 'suite', '--resume', 'r1.2']).ended).code).toBe(0);
    for (const number of ['', '.2', '.3']) {
      const { run_id, stats } = JSON.parse(readFileSync(`${folder}${number}/run.json`, 'utf8')) as RunArtifact;
      expect(run_id).toBe(`r1${number}`);
      expect(stats).toMatchObject({ cases_total: CASES, cases_completed: CASES });
      await expectValid(`${folder}${number}`);
    }
  });
});

describe('an interrupted suite', () => {
  test('prints how to resume after Ctrl-C, and resumes', async () => {
    const { place, agent, folder, start } = await world();
    const run = start();
    await until('enough cases were sent', () => agent.seen.length > CASES / 3);
    run.kill('SIGINT');
    const { code, stderr } = await run.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('proctor run suite --resume r1');
    expect((await place.start(['run', 'suite', '--resume', 'r1']).ended).code).toBe(0);
    await expectValid(folder);
    const again = await place.start(['run', 'suite', '--resume', 'r1']).ended;
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('finished');
  });

  test('cannot be resumed while it runs', async () => {
    const { place, agent, start, release } = await world({ isHeld: true });
    const run = start();
    await until('cases were sent', () => agent.seen.length > 1);
    const { code, stderr } = await place.start(['run', 'suite', '--resume', 'r1']).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('still running');
    release();
    expect((await run.ended).code).toBe(0);
  });

  test('is resumed by only one process', async () => {
    const { place, agent, ids, folder, start } = await world({ delayMs: 60 });
    const run = start();
    await until('enough cases were sent', () => agent.seen.length > CASES / 4);
    await killed(run);
    const resumed = await Promise.all([1, 2, 3].map(() => place.start(['run', 'suite', '--resume', 'r1']).ended));
    expect(resumed.filter(({ code }) => code === 0)).toHaveLength(1);
    const keys = agent.seen.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(keys.length);
    for (const id of ids) expect(artifactIn(folder, id).status, id).toBe('ok');
    await expectValid(folder);
  });

  test('that was killed while it was being finished resumes without repeating a case', async () => {
    for (const file of ['run.json.tmp', 'run.json', 'assets/manifest.json']) {
      const { place, agent, folder, start } = await world({ delayMs: 1 });
      const run = start();
      await until('it is being finished', () => existsSync(path.join(folder, file)) || run.isOver, 15_000);
      await killed(run);
      const asked = agent.seen.length;
      await place.start(['run', 'suite', '--resume', 'r1']).ended;
      expect(agent.seen.length, file).toBe(asked);
      await withoutParts(place, folder);
      await expectValid(folder);
    }
  });

  test('is found by the name of its first repetition', async () => {
    const { place, agent, folder, start } = await world({ repeat: 2 });
    const run = start();
    await until('the second repetition has begun', () => agent.seen.length > 1.3 * CASES);
    await killed(run);
    expect((await place.start(['run', 'suite', '--resume', 'r1']).ended).code).toBe(0);
    await expectValid(`${folder}.2`);
  });

  test('reports a full disk, and resumes once there is space', async context => {
    const { place, agent, folder, start } = await world();
    const disk = smallHome(context, place, 96);
    const run = start();
    const { code, stderr } = await run.ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/could not be written/);
    const finished = finishedIn(folder);
    expect(finished.length).toBeGreaterThan(0);
    expect(finished.length).toBeLessThan(CASES);
    disk.grow();
    expect((await place.start(['run', 'suite', '--resume', 'r1']).ended).code).toBe(0);
    for (const id of finished) expect(agent.times(id), id).toBe(1);
    await expectValid(folder);
  });
});
