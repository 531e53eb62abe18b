import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ownerHere } from '../../../src/run/pipeline/runner-plan.ts';
import { recover } from '../../../src/verbs/recover.ts';
import { prune } from '../../../src/verbs/prune.ts';
import { resumeSuite } from '../../../src/verbs/resume-suite.ts';
import { listRuns, runFolderOf } from '../../../src/verbs/runs.ts';
import { verify } from '../../../src/verify/index.ts';
import { proveJournal, temporaryFolder } from '../../support/support.ts';
import { Agent } from './agent.ts';
import { expectValid, ranSuite } from './support.ts';

/** A process from an earlier boot, which cannot be alive. */
const DEAD = { ...ownerHere(), bootId: '00000000-0000-0000-0000-000000000000' };

/** A suite whose cases are being written, by a live or a dead owner. */
function laidOut(owner: typeof DEAD, id = 'mine') {
  const cwd = temporaryFolder();
  const folder = path.join(cwd, '.proctor', 'runs', 'new', id);
  mkdirSync(path.join(folder, 'assets'), { recursive: true });
  writeFileSync(path.join(folder, 'journal.ndjson'), `${JSON.stringify({ is: 'laying', owner })}\n`, { mode: 0o600 });
  proveJournal(folder);
  writeFileSync(path.join(folder, 'assets', 'cases.ndjson'), '{"id":"a"}\n{"id":');
  return { cwd, folder };
}

describe('a suite whose owner died while writing its cases', () => {
  test.each(['mine', 'suite_20260106_120000_aaaaaaaaaaaa'])('is removed by recover: %s', async id => {
    const { cwd, folder } = laidOut(DEAD, id);
    expect((await listRuns(cwd, 9)).runs).toMatchObject([
      { id, status: 'unfinished', subject: 'new, not started yet' },
    ]);
    expect(existsSync(folder)).toBe(true);
    expect(await recover(cwd)).toEqual([{ id, became: 'removed' }]);
    expect(existsSync(folder)).toBe(false);
  });

  test('does not block a new run of the same name', async () => {
    const { cwd, folder } = laidOut(DEAD);
    await ranSuite(['a'], { cwd, as: 'new', runId: 'mine', baseUrl: await new Agent().start() });
    await expectValid(folder);
  });
});

test('a suite with a live owner stays unchanged', async () => {
  const id = 'suite_20260106_120000_aaaaaaaaaaaa';
  const { cwd, folder } = laidOut(ownerHere(), id);
  expect((await listRuns(cwd, 9)).runs).toMatchObject([{ status: 'running' }]);
  runFolderOf(cwd, id);
  expect(await recover(cwd)).toEqual([{ id, became: 'alive' }]);
  expect(await prune(cwd, 0, false)).toMatchObject({ runs: [] });
  expect(existsSync(folder)).toBe(true);
  const again = ranSuite(['a'], {
    cwd: laidOut(ownerHere()).cwd,
    as: 'new',
    runId: 'mine',
    baseUrl: 'http://127.0.0.1:1',
  });
  await expect(again).rejects.toThrow('A run called mine already exists');
});

describe('a partial evaluation whose writer died', () => {
  const part = '.evaluation.json.0123456789ab.tmp';

  test('is reported as advice by the verifier, and kept by recover', async () => {
    const { cwd, folder } = await ranSuite(['a'], { baseUrl: await new Agent().start() });
    writeFileSync(path.join(folder, part), '{"cases":[');
    const messages: string[] = [];
    for await (const { violations, advice } of verify([folder])) {
      expect(violations).toEqual([]);
      messages.push(...advice.map(({ message }) => message));
    }
    expect(messages.filter(message => message.includes('leftover of an interrupted evaluation'))).toHaveLength(1);
    utimesSync(path.join(folder, part), 1, 1);
    await recover(cwd);
    expect(readdirSync(folder)).toContain(part);
  });
});

test('a suite that is stopped between two repetitions reports the next one', async () => {
  const stop = new AbortController();
  const agent = new Agent();
  const options = { repeat: 2, runId: 'twice', baseUrl: await agent.start() };
  const { cwd, result } = await ranSuite(['a'], { ...options, signal: stop.signal, onProgress: () => stop.abort() });
  expect(result.runs).toMatchObject([
    { place: { id: 'twice' }, isOpen: false, ok: 1, judged: undefined },
    { place: { id: 'twice.2' }, isOpen: true, ok: 0, total: 1 },
  ]);
  expect(agent.seen.length).toBe(1);
  const resumed = await resumeSuite('twice', { cwd, variable: () => undefined });
  expect(resumed.runs).toMatchObject([{ place: { id: 'twice.2' }, isOpen: false, ok: 1 }]);
});
