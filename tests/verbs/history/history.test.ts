import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { historyOf, type HistoryCase, type SuiteHistory } from '../../../src/verbs/history/history.ts';
import { temporaryFolder } from '../../support/support.ts';
import { HistoryWorld } from './world.ts';

const COMMITS = ['a', 'b', 'c', 'd'].map(letter => letter.repeat(40));
const at = (commit: string | undefined, dirty = false) => (commit === undefined ? {} : { repo_commit: commit, dirty });

function onlySuite(world: HistoryWorld, options = {}): SuiteHistory {
  const { suites } = historyOf({ cwd: world.cwd, ...options });
  expect(suites).toHaveLength(1);
  return suites[0] as SuiteHistory;
}

const caseIn = ({ cases }: SuiteHistory, id: string): HistoryCase =>
  cases.find(({ case_id }) => case_id === id) as HistoryCase;

describe('the state of a case', () => {
  test('names the run in which a case started to fail, and its commit', async () => {
    const world = new HistoryWorld();
    const ids: string[] = [];
    for (const [index, letter] of ['p', 'f', 'p', 'f', 'f'].entries())
      ids.push(await world.add({ cases: { good: 'p', bad: letter }, run: at(COMMITS[Math.min(index, 3)]) }));
    const suite = onlySuite(world);
    expect(caseIn(suite, 'bad')).toMatchObject({
      state: 'fails',
      since: { run: 3, run_id: ids[3], commit: COMMITS[3], dirty: false, or_before: false },
      trials: ['p', 'f', 'p', 'f', 'f'],
      message: 'The answer does not contain "yes".',
    });
    expect(caseIn(suite, 'good')).toMatchObject({ state: 'passes', since: null });
    expect(suite.cases.map(({ case_id }) => case_id)).toEqual(['bad', 'good']);
    expect(suite.states).toMatchObject({ fails: 1, passes: 1 });
  });

  test('says that a case may have failed before, if older runs are not shown', async () => {
    const world = new HistoryWorld();
    for (let index = 0; index < 3; index++) await world.add({ cases: { bad: 'f' } });
    expect(caseIn(onlySuite(world), 'bad').since).toMatchObject({ run: 0, or_before: false });
    const cut = onlySuite(world, { limit: 2 });
    expect(cut).toMatchObject({ older_runs: 1, runs: [{}, {}] });
    expect(caseIn(cut, 'bad').since).toMatchObject({ run: 0, or_before: true });
  });

  test('distinguishes fixed, flaky, gone and unjudged cases', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { fixed: 'ff', flaky: 'pp', gone: 'pp', open: 'uu', silent: 'pp' } });
    await world.add({ cases: { fixed: 'pp', flaky: 'pf', open: 'uu', silent: 'nn' } });
    const suite = onlySuite(world);
    const stateOf = (id: string) => caseIn(suite, id).state;
    expect(['fixed', 'flaky', 'gone', 'open', 'silent'].map(stateOf)).toEqual([
      'fixed',
      'flaky',
      'gone',
      'unknown',
      'passes',
    ]);
    expect(caseIn(suite, 'fixed').since).toMatchObject({ run: 1 });
  });

  test('keeps a case that a partial run did not send', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'p', two: 'f' } });
    await world.add({ cases: { one: 'p' }, request: { only: ['one'] } });
    const suite = onlySuite(world);
    expect(caseIn(suite, 'two')).toMatchObject({ state: 'fails', trials: ['f', ''] });
    expect(suite.runs.map(({ partial }) => partial)).toEqual([false, true]);
  });

  test('follows the candidate if there are runs of both sides', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'p' } });
    await world.add({ cases: { one: 'f' } });
    await world.add({ cases: { one: 'p' }, side: 'baseline' });
    const suite = onlySuite(world);
    expect(suite.side).toBe('new');
    expect(caseIn(suite, 'one')).toMatchObject({ state: 'fails', since: { run: 1 } });
    expect(caseIn(onlySuite(world, { side: 'baseline' }), 'one')).toMatchObject({ state: 'passes', trials: ['p'] });
  });

  test('marks the runs in which the definition of a case changed', async () => {
    const world = new HistoryWorld();
    for (const expects of ['yes', 'yes', 'no', 'no']) await world.add({ cases: { one: 'p' }, expects });
    expect(caseIn(onlySuite(world), 'one').changed).toEqual([2]);
  });
});

describe('flakiness', () => {
  test('counts changes between runs of one clean commit, but not of a changed checkout', async () => {
    const flaky = async (dirty: boolean): Promise<number | null> => {
      const world = new HistoryWorld();
      for (const letter of ['p', 'f', 'p']) await world.add({ cases: { one: letter }, run: at(COMMITS[0], dirty) });
      return onlySuite(world).flakiness;
    };
    expect(await flaky(false)).toBe(1);
    expect(await flaky(true)).toBeNull();
  });

  test('does not count a change of model', async () => {
    const world = new HistoryWorld();
    for (const [letter, model] of [
      ['p', 'm-1'],
      ['f', 'm-2'],
      ['p', 'm-3'],
    ] as const)
      await world.add({ cases: { one: letter }, run: at(COMMITS[0]), request: { provenance: { model } } });
    const suite = onlySuite(world);
    expect(suite.flakiness).toBeNull();
    expect(suite.runs.map(({ model }) => model)).toEqual(['m-1', 'm-2', 'm-3']);
  });
});

describe('a run', () => {
  test('counts its repetitions as trials, and its later rounds for their cases only', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'ppf', two: 'ppp' }, round: { one: 'f' } });
    const suite = onlySuite(world);
    expect(suite.runs).toMatchObject([{ trials: 3, cases: { passed: 1, failed: 0, mixed: 1, unknown: 0 } }]);
    expect(suite.runs[0]?.pass_rate?.rate).toBeCloseTo(5 / 6);
    expect(caseIn(suite, 'one').trials).toEqual(['ppff']);
  });

  test('sums the known costs, and counts the answers without one', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'pp', two: 'pn' }, costUsd: 0.1 });
    await world.add({ cases: { one: 'p' } });
    const suite = onlySuite(world);
    expect(suite.runs).toMatchObject([
      { cost_usd: 0.3, unpriced: 0 },
      { cost_usd: null, unpriced: 1 },
    ]);
    expect(caseIn(suite, 'one').cost_usd).toEqual([0.2, null]);
    expect(suite.runs[0]?.latency_ms).toEqual({ p50: 12, p95: 12 });
  });

  test('reports what is unknown as null', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'n' } });
    expect(onlySuite(world).runs).toMatchObject([
      {
        commit: null,
        dirty: null,
        model: null,
        agent_version: null,
        pass_rate: null,
        latency_ms: null,
        cost_usd: null,
      },
    ]);
  });

  test('is listed as not judged if it has no evaluation', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'f' } });
    await world.add({ cases: { one: 'p' }, isJudged: false });
    const suite = onlySuite(world);
    expect(suite.runs).toMatchObject([{ cases: { failed: 1 } }, { cases: null, pass_rate: null, trials: 0 }]);
    expect(caseIn(suite, 'one')).toMatchObject({ state: 'fails', trials: ['f', ''] });
  });

  test.each([
    ['evaluation.json', 'Its evaluation was changed after it was sealed.'],
    ['run.json', 'run.json is missing or was changed'],
    ['evidence/request.json', 'evidence/request.json is missing or was changed'],
  ])('is named and not used if its %s was changed', async (file, why) => {
    const world = new HistoryWorld();
    const id = await world.add({ cases: { one: 'f' } });
    const place = path.join(world.home, 'runs', 'new', id, file);
    writeFileSync(place, readFileSync(place, 'utf8').replace('"new"', '"old"'));
    const { suites, unreadable, unreadable_total } = historyOf({ cwd: world.cwd });
    expect(unreadable).toEqual([{ run_id: id, why: expect.stringContaining(why) as string }]);
    expect(unreadable_total).toBe(1);
    expect(suites.flatMap(({ cases }) => cases)).toEqual([]);
  });

  test('is not counted twice if its folder was copied, and not at all without a seal', async () => {
    const world = new HistoryWorld();
    const id = await world.add({ cases: { one: 'p' } });
    const open = await world.add({ cases: { one: 'f' } });
    const runs = path.join(world.home, 'runs', 'new');
    rmSync(path.join(runs, open, 'evidence', 'seal.json'));
    const copy = path.join(runs, 'suite_20260106_130000_0123456789ab');
    mkdirSync(copy);
    cpSync(path.join(runs, id), copy, { recursive: true });
    const { suites, unreadable, unfinished } = historyOf({ cwd: world.cwd });
    expect(suites[0]?.runs.map(({ run_id }) => run_id)).toEqual([id]);
    expect(unreadable).toEqual([{ run_id: path.basename(copy), why: `It is ${id}.` }]);
    expect(unfinished).toBe(1);
  });
});

describe('a suite', () => {
  test('is identified by its name, and other runs of the same case file belong to it', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'p' } });
    await world.add({ cases: { one: 'p' }, suite: 'refunds' });
    await world.add({ cases: { two: 'p' }, run: { cases_path: 'other/cases.yaml' } });
    const { suites } = historyOf({ cwd: world.cwd });
    expect(suites.map(({ name, runs }) => [name, runs.length])).toEqual([
      ['other/cases.yaml', 1],
      ['refunds', 2],
    ]);
  });

  test('is found by its name, by its file and by one of its cases', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'p', both: 'p' }, suite: 'refunds' });
    await world.add({ cases: { two: 'f', both: 'p' }, run: { cases_path: 'other/cases.yaml' } });
    const named = (name: string, caseId?: string) => {
      const { suite, case_id, suites } = historyOf({ cwd: world.cwd, name, caseId });
      return [suite, case_id, suites[0]?.cases.map(one => one.case_id)];
    };
    expect(named('refunds')).toEqual(['refunds', null, ['one', 'both']]);
    expect(named('cases.yaml')).toEqual(['other/cases.yaml', null, ['two', 'both']]);
    expect(named('two')).toEqual(['other/cases.yaml', 'two', ['two']]);
    expect(named('refunds', 'both')).toEqual(['refunds', 'both', ['both']]);
    expect(() => named('both')).toThrow('2 suites have a case "both": other/cases.yaml, refunds.');
    expect(() => named('refund')).toThrow('No judged run has a suite or a case "refund". Did you mean "refunds"?');
    expect(() => named('nope', 'both')).toThrow('No run belongs to a suite "nope".');
  });

  test('does not mix two suites that share a case file', async () => {
    const world = new HistoryWorld();
    await world.add({ cases: { one: 'p' }, suite: 'fast' });
    await world.add({ cases: { one: 'f' }, suite: 'slow' });
    await world.add({ cases: { one: 'p' } });
    expect(historyOf({ cwd: world.cwd }).suites.map(({ name }) => name)).toEqual(['cases.yaml', 'slow', 'fast']);
  });
});

test('a project without runs has an empty history', () => {
  expect(historyOf({ cwd: temporaryFolder() })).toMatchObject({ suites: [], suites_total: 0, unreadable: [] });
});
