import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { acceptBaseline } from '../../../src/verbs/baseline.ts';
import { compareRuns } from '../../../src/verbs/compare.ts';
import { runsNotHere, reportSubject, writeReports } from '../../../src/verbs/report.ts';
import { sideOf } from '../../../src/verbs/evaluations.ts';
import { temporaryFolder } from '../../support/support.ts';
import { Agent, type answersWell, saying } from './agent.ts';
import { ranSuite } from './support.ts';

type Behaviour = typeof answersWell;

const CASE = { id: 'one', input: { user: 'x' }, expected: { contains: 'well' } };

const answering = (content: string): Behaviour => saying({ final_output: { content_type: 'text', content } });

/** A good baseline, and a candidate with one trial for each behaviour. */
async function compared(...trials: readonly Behaviour[]) {
  const cwd = temporaryFolder();
  const before = new Agent({ one: answering('all is well') });
  await ranSuite([CASE], { cwd, runId: 'before', baseUrl: await before.start() });
  const now = new Agent({ one: (seen, response, times) => trials[times - 1]?.(seen, response, times) });
  await ranSuite([CASE], { cwd, as: 'new', runId: 'now', repeat: trials.length, baseUrl: await now.start() });
  const { comparison, files } = await compareRuns({ baseline: 'baseline', candidate: 'new', cwd });
  const reported = async () => {
    const { subject, folder } = await reportSubject('latest', cwd);
    const { html = '' } = writeReports(folder, subject, ['html']);
    return { subject, page: readFileSync(html, 'utf8') };
  };
  return { cwd, comparison, page: readFileSync(files.html ?? '', 'utf8'), reported };
}

const output = (content: string): string => `"content":"${content}"`;
/** The case as the page first shows it, without the other trials. */
const caseIn = (page: string): string => /id="case-0">([^<]*)</.exec(page)?.[1] ?? '';
const shownIn = (page: string): unknown => JSON.parse(/"shown":(\{[^}]*\})/.exec(page)?.[1] ?? 'null');

describe('copied runs', () => {
  test('keep their original age', async () => {
    const cwd = temporaryFolder();
    const agent = await new Agent().start();
    const ids = ['zeta', 'alpha', 'mean'];
    for (const runId of ids) await ranSuite(['a'], { cwd, as: 'new', runId, out: 'art', baseUrl: agent });
    const newest = async (folder: string) =>
      (await sideOf(folder, cwd, { home: path.join(cwd, '.proctor') })).side.trials.map(({ runId }) => runId);
    const from = path.join(cwd, 'art', 'new');
    expect(await newest(from)).toEqual(['mean']);
    const copies = path.join(cwd, 'copies');
    mkdirSync(copies);
    for (const id of ids.toReversed()) cpSync(path.join(from, id), path.join(copies, id), { recursive: true });
    expect(await newest(copies)).toEqual(['mean']);
  });
});

describe('a report page', () => {
  test('shows the trial that its cause cites, and not one without agent data', async () => {
    const { comparison, page } = await compared((_seen, response) => response.destroy(), answering('all is lost'));
    expect(comparison.cases[0]).toMatchObject({ change: 'regressed', divergence: { kind: 'output' } });
    expect(shownIn(page)).toEqual({ baseline: 'before', new: 'now.2' });
    expect(page.includes(output('all is lost'))).toBe(true);
  });

  test('never shows another trial in place of a missing one', async () => {
    const { cwd, page, reported } = await compared(answering('lost at first'), answering('lost at last'));
    expect(page.includes(output('lost at first'))).toBe(true);
    rmSync(path.join(cwd, '.proctor', 'runs', 'new', 'now'), { recursive: true });
    const again = await reported();
    expect(caseIn(again.page)).not.toContain(output('lost at last'));
    expect(caseIn(again.page)).toContain(output('all is well'));
    expect(again.page).not.toContain(output('lost at first'));
    expect(runsNotHere(again.subject)).toEqual(['now']);
  });
});

test('report latest shows a run if it is newer than the last comparison, whatever its name', async () => {
  const { cwd, reported } = await compared(answering('all is lost'));
  expect((await reported()).subject).toHaveProperty('comparison');
  // Ids contain only whole seconds, so this backdates the comparison.
  const comparisons = path.join(cwd, '.proctor', 'comparisons');
  for (const id of readdirSync(comparisons)) {
    renameSync(path.join(comparisons, id), path.join(comparisons, 'comparison_20260101_090000_aaaaaaaaaaaa'));
  }
  await ranSuite([CASE], { cwd, runId: 'later', baseUrl: await new Agent().start() });
  expect((await reported()).subject).toMatchObject({ run: { run_id: 'later' } });
});

test('a baseline and a gate may be symlinks', async () => {
  const { cwd } = await compared(answering('all is lost'));
  await acceptBaseline('before', 'accepted.json', cwd);
  writeFileSync(path.join(cwd, 'gate.yaml'), 'schema_version: gate.v1\nmode: proven\n');
  for (const name of ['accepted.json', 'gate.yaml']) symlinkSync(name, path.join(cwd, `link-${name}`));
  const named = { baseline: 'link-accepted.json', candidate: 'new', gate: 'link-gate.yaml' };
  const { comparison } = await compareRuns({ ...named, cwd });
  expect(comparison).toMatchObject({ sides: { baseline: { source: 'accepted' } }, gate: { mode: 'proven' } });
});
