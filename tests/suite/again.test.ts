import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { comparison as contract } from '../../src/contracts/comparison/index.ts';
import { suiteRequest } from '../../src/contracts/suite/index.ts';
import { acceptBaseline } from '../../src/tool/baseline.ts';
import { compareRuns, type CompareOptions } from '../../src/tool/compare.ts';
import { judged, temporaryFolder } from '../support.ts';
import { Agent, type answersWell, saying } from './agent.ts';
import { expectValid, ranSuite } from './support.ts';

type Behaviour = typeof answersWell;

const CASES = Array.from({ length: 10 }, (_, index) => ({
  id: `case-${index}`,
  input: { user: 'x' },
  expected: { contains: 'well' },
}));

const answering = (content: string): Behaviour => saying({ final_output: { content_type: 'text', content } });
const all = (behaviour: Behaviour): Record<string, Behaviour> =>
  Object.fromEntries(CASES.map(({ id }) => [id, behaviour]));

/** A baseline that does well, and a new agent that behaves as told in one of ten cases. */
async function twoSides(worse: Behaviour, { repeat = 1, isSameAddress = false } = {}) {
  const cwd = temporaryFolder();
  const before = new Agent(all(answering('all is well')));
  const address = await before.start();
  await ranSuite(CASES, { cwd, runId: 'before', repeat, retries: 0, baseUrl: address });
  const now = new Agent({ ...all(answering('all is well')), 'case-3': worse });
  if (isSameAddress) await before.stop();
  const port = isSameAddress ? Number(new URL(address).port) : 0;
  await ranSuite(CASES, { cwd, as: 'new', runId: 'now', repeat, retries: 0, baseUrl: await now.start(port) });
  const compare = async (again: CompareOptions['again'], over: Partial<CompareOptions> = {}) =>
    (await compareRuns({ baseline: 'baseline', candidate: 'new', cwd, ...(again && { again }), ...over })).comparison;
  return { cwd, before, now, compare };
}

const requestOf = (cwd: string, side: string, id: string): unknown =>
  JSON.parse(readFileSync(path.join(cwd, '.proctor/runs', side, id, 'evidence/request.json'), 'utf8'));

describe('asking suspects again', () => {
  test('convicts a case that goes on failing, and keeps why each trial was asked', async () => {
    const { cwd, before, now, compare } = await twoSides(answering('all is lost'));
    expect(await compare(undefined)).toMatchObject({ exit_code: 3, decision: { cause: 'suspect' } });
    const found = await compare({});
    expect(found).toMatchObject({
      exit_code: 1,
      decision: { cause: 'broken', broken: [{ case_id: 'case-3' }], drop: 0.1 },
      again: { sides: 'both', stopped: 'settled', max_trials: 200, max_ms: 600_000, cost_usd: null },
    });
    expect((await judged(contract, found, { strict: true })).violations).toEqual([]);
    const rounds = found.again?.rounds ?? 0;
    expect(rounds).toBeGreaterThan(1);
    expect(found.again?.trials).toBe(2 * rounds);
    expect([before.times('case-3'), now.times('case-3'), now.times('case-0')]).toEqual([1 + rounds, 1 + rounds, 1]);
    const request = requestOf(cwd, 'new', 'now.a1');
    expect(request).toMatchObject({
      only: ['case-3'],
      rerun: {
        of: 'now',
        round: 1,
        cases: [{ case_id: 'case-3', baseline: { passes: 1, trials: 1 }, new: { passes: 0, trials: 1 }, p: 0.25 }],
      },
    });
    expect((await judged(suiteRequest, request, { strict: true })).violations).toEqual([]);
    await expectValid(path.join(cwd, '.proctor/runs/new/now.a1'));
    // What was asked again is evidence: the next comparison counts it without asking.
    expect(await compare(undefined)).toMatchObject({ exit_code: 1, decision: { cause: 'broken' } });
    expect(now.times('case-3')).toBe(1 + rounds);
  });

  test('acquits a case that was unlucky once', async () => {
    const unlucky: Behaviour = (seen, response, times) =>
      answering(times === 1 ? 'all is lost' : 'all is well')(seen, response, times);
    const { compare } = await twoSides(unlucky);
    const found = await compare({});
    expect(found.decision).toMatchObject({ broken: [], suspects: [] });
    expect(found.verdict).not.toBe('regression');
    expect(found.again?.rounds).toBe(1);
  });

  test('convicts an input that the agent drops each time', async () => {
    const { compare } = await twoSides((_seen, response) => response.destroy(), { repeat: 3 });
    expect(await compare(undefined)).toMatchObject({ exit_code: 3, decision: { cause: 'suspect' } });
    expect(await compare({})).toMatchObject({ exit_code: 1, decision: { broken: [{ case_id: 'case-3' }] } });
  });

  test('asks the new side alone where both sides have one address, for it answers with one version', async () => {
    const { cwd, compare } = await twoSides(answering('all is lost'), { isSameAddress: true, repeat: 5 });
    // Five trials a side settle it; with three of them the new side alone is asked.
    for (const id of ['now.2', 'now.3', 'now.4', 'now.5'])
      rmSync(path.join(cwd, '.proctor/runs/new', id), { recursive: true });
    const found = await compare({});
    expect(found.again?.sides).toBe('new');
    expect(found).toMatchObject({ exit_code: 1, decision: { cause: 'broken' } });
    expect(existsSync(path.join(cwd, '.proctor/runs/baseline/before.a1'))).toBe(false);
  });

  test('asks the new side alone against an accepted baseline, and refuses a target for it', async () => {
    const { cwd, compare } = await twoSides(answering('all is lost'), { repeat: 3 });
    await acceptBaseline('before', 'accepted.json', cwd);
    const found = await compare({}, { baseline: 'accepted.json' });
    expect(found).toMatchObject({ exit_code: 1, again: { sides: 'new' } });
    await expect(compare({ baselineUrl: 'http://127.0.0.1:1' }, { baseline: 'accepted.json' })).rejects.toThrow(
      'cannot be asked again',
    );
  });

  test('goes on with the new side where the baseline is gone', async () => {
    const { before, compare } = await twoSides(answering('all is lost'), { repeat: 3 });
    await before.stop();
    const found = await compare({});
    expect(found).toMatchObject({ exit_code: 1, again: { sides: 'new', stopped: 'settled' } });
  });

  test('ends where its budget does, and says which', async () => {
    const { compare } = await twoSides(answering('all is lost'));
    expect(await compare({ maxTrials: 1 })).toMatchObject({ exit_code: 3, again: { trials: 0, stopped: 'trials' } });
    expect(await compare({ maxMs: 0 })).toMatchObject({ exit_code: 3, again: { trials: 0, stopped: 'time' } });
    const unknown = await compare({ maxCostUsd: 1 });
    expect(unknown).toMatchObject({ exit_code: 3, again: { rounds: 1, stopped: 'cost_unknown', cost_usd: null } });
  });

  test('asks a script again that is named and is still the same, and no other', async () => {
    const cwd = temporaryFolder();
    const answers = (word: string): string =>
      `printf '{"final_output":{"content_type":"text","content":"all is ${word}"}}' > output/reply.json\n`;
    writeFileSync(path.join(cwd, 'good.sh'), answers('well'));
    writeFileSync(path.join(cwd, 'bad.sh'), answers('lost'));
    const cases = CASES.slice(0, 2);
    await ranSuite(cases, { cwd, runId: 'before', script: 'good.sh' });
    await ranSuite(cases, { cwd, as: 'new', runId: 'now', script: 'bad.sh' });
    const compare = (again: CompareOptions['again']) =>
      compareRuns({ baseline: 'before', candidate: 'now', cwd, again: again ?? {} });
    await expect(compare({})).rejects.toThrow('The runs asked the script bad.sh: say where it is (--script FILE).');
    await expect(compare({ script: 'good.sh' })).rejects.toThrow('The script is not the one that the runs');
    const { comparison } = await compare({ script: 'bad.sh', baselineScript: 'good.sh', maxTrials: 4 });
    expect(comparison.again).toMatchObject({ sides: 'both', rounds: 1, trials: 4, stopped: 'trials' });
  });

  test('asks nobody where nothing is suspicious', async () => {
    const { now, compare } = await twoSides(answering('all is well'));
    expect(await compare({})).toMatchObject({ exit_code: 0, again: { rounds: 0, trials: 0, stopped: 'settled' } });
    expect(now.times('case-3')).toBe(1);
  });
});
