import { mkdirSync, mkdtempSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readBelow } from '../../src/base/regular.ts';
import { transcriptLines } from '../../src/evidence/agent/agent-folder.ts';
import { diffSummary } from '../../src/evidence/agent/diff-summary.ts';
import { documentIn } from '../../src/evidence/document.ts';
import { suiteRequest } from '../../src/contracts/suite/index.ts';
import type { PageCase, PageHead } from '../../src/reports/page-data.ts';
import { compareRuns } from '../../src/verbs/compare.ts';
import { historyOf } from '../../src/verbs/history/history.ts';
import { viewHistory } from '../../src/verbs/history/view-history.ts';
import { refuseSealed, reportOf, reportSubject, writeReports } from '../../src/verbs/report.ts';
import { viewReport } from '../../src/verbs/view.ts';
import { temporaryFolder } from '../support/support.ts';
import { HistoryWorld } from './history/world.ts';

async function judgedWorld() {
  const world = new HistoryWorld();
  const id = await world.add({ cases: { one: 'p', two: 'f' } });
  return { world, id, folder: path.join(world.home, 'runs', 'new', id) };
}

const edited = (file: string, from: string, to: string): void =>
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(from, to));

interface Shown {
  readonly head: PageHead;
  readonly details: readonly PageCase[];
}

/** The data in a page. */
function shownIn(html: string): Shown {
  const parsed = (id: string): unknown => {
    const [, text = 'null'] = new RegExp(`id="${id}">([^<]*)<`).exec(html) ?? [];
    return JSON.parse(text);
  };
  const details = [0, 1].flatMap(index => (parsed(`case-${index}`) as PageCase | null) ?? []);
  return { head: parsed('head') as PageHead, details };
}

describe('a page of a run whose files were changed after it was sealed', () => {
  const pageOf = async (word: string, cwd: string): Promise<Shown> =>
    shownIn(readFileSync((await viewReport(word, { cwd, isOpening: false })).file, 'utf8'));

  test.each([
    ['one.json', 'yes, sir', 'no, madam', 'The answer of the candidate was changed after its run was sealed.'],
    ['assets/cases.ndjson', 'What about', 'Who about', 'The cases were changed after the run was sealed.'],
    ['run.json', '2026-01-06', '2027-01-06', undefined],
    ['evidence/request.json', '"total":1', '"total":1 ', undefined],
  ])('opens, says so first, and marks a changed answer or case: %s', async (file, from, to, note) => {
    const { world, id, folder } = await judgedWorld();
    expect((await pageOf(id, world.cwd)).head).toMatchObject({ word: 'Not all passed' });
    edited(path.join(folder, file), from, to);
    const { head, details } = await pageOf(id, world.cwd);
    expect(head).toMatchObject({
      tone: 'bad',
      word: 'Does not verify',
      sentence: 'The evidence was changed after it was sealed.',
      details: `${id}: ${file} is missing or was changed. The sealed verdict says: Not all passed. 1 passed, 1 failed, 0 errors.`,
    });
    const cuts = details.flatMap(one => one.cuts).join(' ');
    if (note === undefined) expect(cuts).toBe('');
    else expect(cuts).toContain(note);
    const { subject } = await reportSubject(id, world.cwd);
    for (const format of ['md', 'junit', 'json'] as const)
      expect(() => reportOf(subject, format)).toThrow(`${id} does not match its seal: ${file}`);
  });

  test('is refused if the evaluation was changed, too', async () => {
    const { world, id, folder } = await judgedWorld();
    edited(path.join(folder, 'one.json'), 'yes, sir', 'no, madam');
    const evaluation = path.join(world.home, 'runs', 'new', id, 'evaluation.json');
    edited(evaluation, '"fail"', '"pass"');
    await expect(pageOf(id, world.cwd)).rejects.toThrow('It has no sealed evaluation either');
  });

  test('opens for a comparison, too, and leaves out further trials that were changed', async () => {
    const world = new HistoryWorld();
    const baseline = await world.add({ cases: { one: 'pp' }, side: 'baseline' });
    const candidate = await world.add({ cases: { one: 'ff' } });
    const { folder: comparison } = await compareRuns({ baseline, candidate, cwd: world.cwd });
    const runs = path.join(world.home, 'runs', 'new');
    edited(path.join(runs, candidate, 'one.json'), 'nothing', 'a forged answer');
    edited(path.join(runs, `${candidate}.2`, 'one.json'), 'nothing', 'another forgery');
    const { file } = await viewReport(comparison, { cwd: world.cwd, isOpening: false });
    const html = readFileSync(file, 'utf8');
    const { head, details } = shownIn(html);
    expect(head.word).toBe('Does not verify');
    expect(head.details).toContain(`${candidate}: one.json is missing or was changed. ${candidate}.2: one.json`);
    expect(details[0]?.cuts).toEqual([
      'The answer of the candidate was changed after its run was sealed. It proves nothing.',
    ]);
    expect([html.includes('a forged answer'), html.includes('another forgery')]).toEqual([true, false]);
  });

  test('is refused if a file changes after Proctor checked the seal', async () => {
    const { world, id, folder } = await judgedWorld();
    const { subject } = await reportSubject(id, world.cwd);
    edited(path.join(folder, 'one.json'), 'yes, sir', 'no, madam');
    const out = path.join(world.cwd, 'out');
    expect(() => writeReports(out, subject, ['html'])).toThrow(`${id} does not match its seal: one.json`);
  });
});

describe('a link inside a run folder', () => {
  test('does not lead to files of this machine', () => {
    const [folder, home] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(path.join(home, 'secret'), 'diff --git a/x b/x\n');
    mkdirSync(path.join(folder, 'evidence'));
    symlinkSync(home, path.join(folder, 'evidence', 'steps'));
    expect(readBelow(folder, 'evidence/steps/secret', 100)).toBeUndefined();
    expect(diffSummary(folder, 'evidence/steps/secret')).toBeUndefined();
    expect([...transcriptLines(folder)]).toEqual([]);
    expect(readBelow(home, 'secret', 100)?.length).toBe(19);
    expect(readBelow(home, 'secret', 18)).toBeUndefined();
  });

  test('does not lead to a document of another run', async () => {
    const { folder } = await judgedWorld();
    expect(documentIn(folder, 'evidence/request.json', suiteRequest)).toBeDefined();
    const elsewhere = path.join(temporaryFolder(), 'evidence');
    renameSync(path.join(folder, 'evidence'), elsewhere);
    symlinkSync(elsewhere, path.join(folder, 'evidence'));
    expect(documentIn(folder, 'evidence/request.json', suiteRequest)).toBeUndefined();
  });

  test('and a FIFO are never waited for', () => {
    const folder = temporaryFolder();
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    expect(readBelow(folder, 'pipe', 100)).toBeUndefined();
  });
});

describe('the folder for reports', () => {
  test('is refused inside a sealed run, also behind a link', async () => {
    const { world, id, folder } = await judgedWorld();
    const link = path.join(world.cwd, 'link');
    symlinkSync(path.join(folder, 'assets'), link);
    for (const out of [folder, path.join(folder, 'assets', 'new'), link, path.join(link, 'a', 'b')]) {
      expect(() => refuseSealed(out)).toThrow('belongs to a sealed run');
      await expect(reportSubject(id, world.cwd, { out })).rejects.toThrow('belongs to a sealed run');
      const file = path.join(out, 'page.html');
      await expect(viewHistory({ cwd: world.cwd, file, isOpening: false })).rejects.toThrow('belongs to a sealed run');
    }
    refuseSealed(mkdtempSync(path.join(world.cwd, 'free-')));
  });

  test('is refused if the usual folder is a link into a sealed run', async () => {
    const { world, id, folder } = await judgedWorld();
    mkdirSync(path.join(world.home, 'reports'));
    symlinkSync(path.join(folder, 'assets'), path.join(world.home, 'reports', id));
    await expect(viewReport(id, { cwd: world.cwd, isOpening: false })).rejects.toThrow('belongs to a sealed run');
  });
});

describe('the file of a history', () => {
  test('replaces a page, and no other file', async () => {
    const { world } = await judgedWorld();
    const write = (file: string) => viewHistory({ cwd: world.cwd, file, isOpening: false });
    await write('page.html');
    await write('page.html');
    writeFileSync(path.join(world.cwd, 'cases.yaml'), 'precious');
    await expect(write('cases.yaml')).rejects.toThrow('The file of --html exists, and it is not a page.');
    expect(readFileSync(path.join(world.cwd, 'cases.yaml'), 'utf8')).toBe('precious');
    symlinkSync('cases.yaml', path.join(world.cwd, 'link.html'));
    await expect(write('link.html')).rejects.toThrow('it is not a page');
    await expect(write('.')).rejects.toThrow('it is not a page');
    execFileSync('mkfifo', [path.join(world.cwd, 'pipe.html')]);
    await expect(write('pipe.html')).rejects.toThrow('it is not a page');
  });

  test.each([1e300, 1e15, Number.MAX_VALUE])('survives a run that claims to have taken %d ms', async duration_ms => {
    const world = new HistoryWorld();
    const stats = { cases: 1, duration_ms } as never;
    await world.add({ cases: { one: 'p' }, run: { stats } });
    expect(historyOf({ cwd: world.cwd }).suites[0]?.runs[0]?.started_at).toMatch(/^20\d\d-/);
  });
});
