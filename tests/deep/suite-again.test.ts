import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { comparison as contract } from '../../src/contracts/comparison/index.ts';
import { suiteRequest } from '../../src/contracts/suite/index.ts';
import { acceptBaseline } from '../../src/verbs/baseline.ts';
import { compareRuns, type CompareOptions } from '../../src/verbs/compare.ts';
import type { RunSuiteOptions } from '../../src/verbs/run-suite.ts';
import { judged, temporaryFolder } from '../support/support.ts';
import { Agent, type answersWell, saying } from '../run/suite/agent.ts';
import { expectValid, ranSuite } from '../run/suite/support.ts';

type Behaviour = typeof answersWell;

const CASES = Array.from({ length: 10 }, (_, index) => ({
  id: `case-${index}`,
  input: { user: 'x' },
  expected: { contains: 'well' },
}));

const answering = (content: string): Behaviour => saying({ final_output: { content_type: 'text', content } });
const all = (behaviour: Behaviour): Record<string, Behaviour> =>
  Object.fromEntries(CASES.map(({ id }) => [id, behaviour]));

interface TwoSides {
  readonly repeat?: number;
  readonly repeatNew?: number;
  readonly isSameAddress?: boolean;
  readonly old?: Behaviour;
  /** Trials of the candidate. */
  readonly over?: Partial<RunSuiteOptions>;
}

/** A good baseline, and a candidate with the given behaviour in one of ten cases. */
async function twoSides(worse: Behaviour, options: TwoSides = {}) {
  const { repeat = 1, repeatNew = repeat, isSameAddress = false, old = answering('all is well'), over } = options;
  const cwd = temporaryFolder();
  const before = new Agent(all(old));
  const address = await before.start();
  await ranSuite(CASES, { cwd, runId: 'before', repeat, retries: 0, baseUrl: address });
  const now = new Agent({ ...all(answering('all is well')), 'case-3': worse });
  if (isSameAddress) await before.stop();
  const port = isSameAddress ? Number(new URL(address).port) : 0;
  const asked = { cwd, as: 'new', runId: 'now', repeat: repeatNew, retries: 0, ...over } as const;
  const url = await now.start(port);
  await ranSuite(CASES, { ...asked, baseUrl: url });
  const compare = async (again: CompareOptions['again'], over: Partial<CompareOptions> = {}) =>
    (await compareRuns({ baseline: 'baseline', candidate: 'new', cwd, ...(again && { again }), ...over })).comparison;
  return { cwd, before, now, url, compare };
}

const requestOf = (cwd: string, side: string, id: string): unknown =>
  JSON.parse(readFileSync(path.join(cwd, '.proctor/runs', side, id, 'evidence/request.json'), 'utf8'));

describe('compare --again', () => {
  test('confirms a case that keeps failing, and records why each trial was repeated', async () => {
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
    // Reruns are evidence: the next comparison counts them and runs nothing again.
    expect(await compare(undefined)).toMatchObject({ exit_code: 1, decision: { cause: 'broken' } });
    expect(now.times('case-3')).toBe(1 + rounds);
  });

  test('clears a case that failed once by chance', async () => {
    const unlucky: Behaviour = (seen, response, times) =>
      answering(times === 1 ? 'all is lost' : 'all is well')(seen, response, times);
    const { compare } = await twoSides(unlucky);
    const found = await compare({});
    expect(found.decision).toMatchObject({ broken: [], suspects: [] });
    expect(found.verdict).not.toBe('regression');
    expect(found.again?.rounds).toBe(1);
  });

  test('confirms a case in which the agent always drops the connection', async () => {
    const { compare } = await twoSides((_seen, response) => response.destroy(), { repeat: 3 });
    expect(await compare(undefined)).toMatchObject({ exit_code: 3, decision: { cause: 'suspect' } });
    expect(await compare({})).toMatchObject({ exit_code: 1, decision: { broken: [{ case_id: 'case-3' }] } });
  });

  test('repeats only the candidate if both sides have the same address', async () => {
    // Five trials per side would decide it.
    const sides = { isSameAddress: true, repeat: 5, repeatNew: 1 };
    const { cwd, compare } = await twoSides(answering('all is lost'), sides);
    const found = await compare({});
    expect(found.again?.sides).toBe('new');
    expect(found).toMatchObject({ exit_code: 1, decision: { cause: 'broken' } });
    expect(existsSync(path.join(cwd, '.proctor/runs/baseline/before.a1'))).toBe(false);
  });

  test('repeats only the candidate if the sides differ only in headers or redirects', async () => {
    const header = { name: 'x-a', env: 'XA', value: 'v' };
    for (const over of [{ redirects: true }, { headers: [header] }]) {
      const { cwd, compare } = await twoSides(answering('all is lost'), { isSameAddress: true, repeat: 3, over });
      const found = await compare({ headers: [header] });
      expect(found).toMatchObject({ exit_code: 1, again: { sides: 'new' } });
      expect(existsSync(path.join(cwd, '.proctor/runs/baseline/before.a1'))).toBe(false);
    }
  });

  test("refuses the candidate's address for the baseline", async () => {
    const { compare, url } = await twoSides(answering('all is lost'));
    const refused = '--baseline-url is the URL of the candidate';
    await expect(compare({ baselineUrl: `${url}/` })).rejects.toThrow(refused);
    const elsewhere = 'http://127.0.0.1:1/v2';
    await expect(compare({ baselineUrl: `${elsewhere}/?a=b`, baseUrl: elsewhere })).rejects.toThrow(refused);
  });

  test('names the target files that it needs, says that only the candidate runs, and stops after 20 rounds', async () => {
    const cwd = temporaryFolder();
    const cases = CASES.slice(0, 3);
    const well = all(answering('all is well'));
    const agents = { old: new Agent(well), now: new Agent({ ...well, 'case-0': answering('all is lost') }) };
    for (const [name, agent] of Object.entries(agents)) {
      const declaration = { kind: 'proctor', url: await agent.start() };
      writeFileSync(path.join(cwd, `${name}.json`), JSON.stringify(declaration));
    }
    await ranSuite(cases, { cwd, runId: 'before', target: 'old.json' });
    await ranSuite(cases, { cwd, as: 'new', runId: 'now', target: 'now.json' });
    const said: string[] = [];
    const watched = {
      onWarning: (sentence: string) => said.push(sentence),
      onRound: ({ round }: { readonly round: number }) => said.push(`round ${round}`),
    };
    const compare = (again?: CompareOptions['again']) =>
      compareRuns({
        baseline: 'before',
        candidate: 'now',
        cwd,
        formats: [],
        ...(again && { again: { ...watched, ...again } }),
      });
    expect((await compare()).againFlags).toBe(' --target FILE --baseline-target FILE');
    await expect(compare({})).rejects.toThrow('The runs used the target now. Specify its file: --target FILE.');
    expect(said).toEqual([]);
    await expect(compare({ target: 'old.json' })).rejects.toThrow(
      "The target changed since this side's runs: name (now, now old), url. Use the version that they used.",
    );
    said.length = 0;
    const { comparison } = await compare({ target: 'now.json' });
    expect(said.slice(0, 2)).toEqual([
      'Only the candidate runs again, in at most 20 rounds (--again-trials). To run the baseline too, add --baseline-target FILE.',
      'round 1',
    ]);
    const spent = { sides: 'new', rounds: 20, trials: 20, max_trials: 20, stopped: 'trials' };
    expect(comparison.again).toMatchObject(spent);
  });

  test('refuses a gate that counts planned trials only', async () => {
    const { now, compare } = await twoSides(answering('all is lost'));
    await expect(compare({}, { mode: 'strict' })).rejects.toThrow('The strict gate counts only planned trials');
    expect(now.times('case-3')).toBe(1);
  });

  test('repeats only the candidate against an accepted baseline, and refuses a target for the baseline', async () => {
    const { cwd, compare } = await twoSides(answering('all is lost'), { repeat: 3 });
    await acceptBaseline('before', 'accepted.json', cwd);
    const found = await compare({}, { baseline: 'accepted.json' });
    expect(found).toMatchObject({ exit_code: 1, again: { sides: 'new' } });
    await expect(compare({ baselineUrl: 'http://127.0.0.1:1' }, { baseline: 'accepted.json' })).rejects.toThrow(
      'cannot be run again',
    );
  });

  test('continues with the candidate if the baseline is gone', async () => {
    const { before, compare } = await twoSides(answering('all is lost'), { repeat: 3 });
    await before.stop();
    const found = await compare({});
    expect(found).toMatchObject({ exit_code: 1, again: { sides: 'new', stopped: 'settled' } });
  });

  test('never counts a baseline that answers only with errors as failing', async () => {
    const old: Behaviour = (seen, response, times) => {
      if (times <= 3) return answering('all is well')(seen, response, times);
      response.writeHead(503);
      response.end('gone');
    };
    const { cwd, compare } = await twoSides(answering('all is lost'), { repeat: 3, old });
    const found = await compare({});
    expect(found).toMatchObject({ exit_code: 1, again: { sides: 'new', stopped: 'settled' } });
    expect(found.sides.baseline.run_ids).toEqual(['before', 'before.2', 'before.3']);
    expect(existsSync(path.join(cwd, '.proctor/runs/baseline/before.a1'))).toBe(true);
    const later = await compare(undefined);
    expect(later.sides.baseline).toEqual(found.sides.baseline);
    expect(later).toMatchObject({ exit_code: 1, decision: { cause: 'broken' } });
  });

  test('repeats unanswered rounds, and stops after a few', async () => {
    const worse: Behaviour = (seen, response, times) =>
      times === 1 ? answering('all is lost')(seen, response, times) : response.destroy();
    const { now, compare } = await twoSides(worse);
    const found = await compare({});
    expect(found).toMatchObject({ exit_code: 3, again: { stopped: 'settled' } });
    expect(found.again?.rounds).toBeGreaterThan(1);
    expect(found.again?.rounds).toBeLessThan(20);
    expect(now.times('case-3')).toBe(1 + (found.again?.rounds ?? 0));
  });

  test('stops at its budget, and names it', async () => {
    const { compare } = await twoSides(answering('all is lost'));
    expect(await compare({ maxTrials: 1 })).toMatchObject({ exit_code: 3, again: { trials: 0, stopped: 'trials' } });
    expect(await compare({ maxMs: 0 })).toMatchObject({ exit_code: 3, again: { trials: 0, stopped: 'time' } });
    const unknown = await compare({ maxCostUsd: 1 });
    expect(unknown).toMatchObject({ exit_code: 3, again: { rounds: 1, stopped: 'cost_unknown', cost_usd: null } });
  });

  test('repeats a named script only if it is unchanged', async () => {
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
    await expect(compare({})).rejects.toThrow('The runs used the script bad.sh. Specify its file: --script FILE.');
    await expect(compare({ script: 'good.sh' })).rejects.toThrow(
      "The script changed since this side's runs: name (bad.sh, now good.sh), sha256. Use the version that they used.",
    );
    const { comparison } = await compare({ script: 'bad.sh', baselineScript: 'good.sh', maxTrials: 4 });
    expect(comparison.again).toMatchObject({ sides: 'both', rounds: 1, trials: 4, stopped: 'trials' });
  });

  test('sends nothing if no case is suspect', async () => {
    const { now, compare } = await twoSides(answering('all is well'));
    expect(await compare({})).toMatchObject({ exit_code: 0, again: { rounds: 0, trials: 0, stopped: 'settled' } });
    expect(now.times('case-3')).toBe(1);
  });
});

describe('the trials of a side', () => {
  const runs = (cwd: string, ...names: readonly string[]): string => path.join(cwd, '.proctor/runs/new', ...names);
  const notComparable = (reason: string) => ({ exit_code: 3, comparability: { state: 'not_comparable' }, reason });

  test('are not compared if a repetition is missing', async () => {
    const worse: Behaviour = (seen, response, times) =>
      answering(times === 1 ? 'all is well' : 'all is lost')(seen, response, times);
    const { cwd, compare } = await twoSides(worse, { repeat: 3 });
    cpSync(runs(cwd, 'now'), path.join(cwd, 'best'), { recursive: true });
    for (const id of ['now.2', 'now.3']) rmSync(runs(cwd, id), { recursive: true });
    const gone = notComparable('2 of 3 repetitions of now are missing, so the trials may be hand-picked.');
    expect(await compare(undefined)).toMatchObject(gone);
    expect(await compare(undefined, { candidate: path.join(cwd, 'best') })).toMatchObject(gone);
    await expect(acceptBaseline('now', 'accepted.json', cwd)).rejects.toThrow('2 of 3 repetitions of now');
  });

  test('are not compared if another run replaces a repetition', async () => {
    const { cwd, compare } = await twoSides(answering('all is lost'), { repeat: 2 });
    rmSync(runs(cwd, 'now.2'), { recursive: true });
    cpSync(runs(cwd, 'now'), runs(cwd, 'now.2'), { recursive: true });
    expect(await compare(undefined, { candidate: 'now' })).toMatchObject(
      notComparable('The folder now.2 contains the run now, so the trials may be hand-picked.'),
    );
  });

  test('are not compared if a round is missing before a later one, or if the run was copied without its rounds', async () => {
    const { cwd, compare } = await twoSides(answering('all is lost'));
    expect((await compare({})).again?.rounds).toBeGreaterThan(1);
    cpSync(runs(cwd, 'now'), runs(cwd, 'copy'), { recursive: true });
    expect(await compare(undefined, { candidate: runs(cwd, 'copy') })).toMatchObject(
      notComparable('The later rounds of now do not count for its copy, so the trials may be hand-picked.'),
    );
    rmSync(runs(cwd, 'now.a1'), { recursive: true });
    expect(await compare(undefined, { candidate: 'now' })).toMatchObject(
      notComparable('Round 1 of now is missing, but a later one exists, so the trials may be hand-picked.'),
    );
  });

  test('do not include a folder that is only named like a round', async () => {
    const { cwd, compare } = await twoSides(answering('all is lost'));
    const baseUrl = await new Agent(all(answering('all is well'))).start();
    await ranSuite(CASES, { cwd, as: 'new', runId: 'now.a1', retries: 0, baseUrl });
    cpSync(runs(cwd, 'now.a1'), runs(cwd, 'now.a2'), { recursive: true });
    const found = await compare(undefined, { candidate: 'now' });
    expect(found.sides.new.run_ids).toEqual(['now']);
    expect(found).toMatchObject({ exit_code: 3, decision: { cause: 'suspect' } });
  });

  test('are not compared with a baseline that was accepted from them', async () => {
    const { cwd, compare } = await twoSides(answering('all is lost'));
    await acceptBaseline('now', 'accepted.json', cwd);
    await expect(compare(undefined, { baseline: 'accepted.json' })).rejects.toThrow(
      'The baseline was accepted from this run',
    );
  });
});
