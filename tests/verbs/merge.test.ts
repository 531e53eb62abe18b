import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { caseInputs } from '../../src/evidence/suite/suite-folder.ts';
import { readSuiteFolder } from '../../src/evidence/suite/suite-folder.ts';
import { acceptBaseline } from '../../src/verbs/baseline.ts';
import { compareRuns } from '../../src/verbs/compare.ts';
import { mergeRuns, type MergeOptions } from '../../src/verbs/merge.ts';
import { packRun } from '../../src/verbs/pack.ts';
import { type Options, verify } from '../../src/verify/index.ts';
import { keyPair, PART_CASES, partFolder, partFolders } from '../support/parts-world.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { temporaryFolder } from '../support/support.ts';

let cwd: string;
beforeEach(() => {
  cwd = temporaryFolder();
});

const merge = (parts: readonly string[], options: Partial<MergeOptions> = {}) => mergeRuns({ parts, cwd, ...options });

async function brokenRules(folder: string, options: Options = {}): Promise<string[]> {
  const rules: string[] = [];
  for await (const { violations, outcome } of verify([folder], options)) {
    if (outcome !== 'valid' && violations.length === 0) rules.push(outcome);
    rules.push(...violations.map(({ rule_id }) => rule_id));
  }
  return [...new Set(rules)];
}

test('a merged run has the cases of all parts in file order, with their bytes, and verifies', async () => {
  const folders = await partFolders(4);
  const { runs, exitCode } = await merge([...folders].reverse());
  expect(exitCode).toBe(0);
  const [run] = runs;
  const folder = run?.place.folder as string;
  expect(await brokenRules(folder)).toEqual([]);
  expect([...caseInputs(folder)].map(({ id }) => id)).toEqual(PART_CASES.map(({ id }) => id));
  for (const [at, { id }] of PART_CASES.entries())
    expect(readFileSync(path.join(folder, `${id}.json`))).toEqual(
      readFileSync(path.join(folders[at % 4] as string, `${id}.json`)),
    );
  expect(run?.parts.map(({ cases }) => cases)).toEqual([2, 2, 1, 1]);
  expect(run?.evaluation?.summary.passed).toBe(6);
  expect(existsSync(path.join(folder, 'journal.ndjson'))).toBe(false);
});

test('a merged run compares as the same with the run in one process, case by case', async () => {
  const whole = await suiteFolder(temporaryFolder(), { version: 'baseline', cases: PART_CASES });
  const { runs } = await merge(await partFolders(4));
  const { comparison } = await compareRuns({ baseline: whole, candidate: runs[0]?.place.folder as string, cwd });
  expect(comparison.cases.map(({ change }) => change)).toEqual(PART_CASES.map(() => 'same'));
});

test.each([
  [[false, true], true],
  [[false, false], false],
  [[false, undefined], undefined],
])('parts with dirty %j make a run with dirty %j', async (states, dirty) => {
  const parts = await Promise.all(
    states.map((state, at) =>
      partFolder(at + 1, 2, { run: { repo_commit: 'a'.repeat(40), ...(state !== undefined && { dirty: state }) } }),
    ),
  );
  const { runs } = await merge(parts);
  const folder = runs[0]?.place.folder as string;
  expect(readSuiteFolder(folder).run.dirty).toBe(dirty);
  expect(await brokenRules(folder)).toEqual([]);
});

test('takes packs, and a folder of packs; the pack of a merged run verifies', async () => {
  const packs = path.join(temporaryFolder(), 'parts');
  mkdirSync(path.join(packs, 'job-1'), { recursive: true });
  for (const [at, folder] of (await partFolders(2)).entries())
    await packRun(folder, { out: path.join(packs, at === 0 ? 'job-1' : '.', `part${at}.proctor.tar`), cwd });
  const { runs } = await merge([packs]);
  expect(runs[0]?.cases).toBe(6);
  expect(readdirSync(path.join(cwd, '.proctor', 'cache'))).toEqual([]);
  const { file } = await packRun(runs[0]?.place.folder as string, { cwd, out: 'merged.proctor.tar' });
  expect(await brokenRules(file)).toEqual([]);
});

test('merges every repetition and every suite on its own', async () => {
  const parts: string[] = [];
  for (const index of [1, 2]) {
    for (const number of [1, 2]) {
      const of = `suite_20260106_120000_00000000000${index}`;
      const repetition = { of, number, total: 2 };
      parts.push(await partFolder(index, 2, { runId: number === 1 ? of : `${of}.2`, repetition }));
    }
    parts.push(await partFolder(index, 2, { request: { suite: 'other' } }));
  }
  const { runs } = await merge(parts);
  expect(runs.map(({ suite, repetition }) => [suite, repetition.number])).toEqual([
    [undefined, 1],
    [undefined, 2],
    ['other', 1],
  ]);
  const [first, second] = runs.map(({ place }) => readSuiteFolder(place.folder).request);
  expect(second?.run_id).toBe(`${first?.run_id}.2`);
});

test('refuses to merge while a part is missing, and says which', async () => {
  const [first, , third, fourth] = (await partFolders(4)) as [string, string, string, string];
  await expect(merge([first, third, fourth])).rejects.toMatchObject({
    code: 'parts_missing',
    message: expect.stringContaining('shard 2/4 (2 cases)') as string,
  });
  expect(existsSync(path.join(cwd, '.proctor', 'runs'))).toBe(false);
});

test('merges what is there with partial; such a run verifies, but cannot be accepted or decide', async () => {
  const [first, , third] = (await partFolders(3)) as [string, string, string];
  const { runs, exitCode } = await merge([first, third], { partial: true });
  expect(exitCode).toBe(3);
  const folder = runs[0]?.place.folder as string;
  expect(await brokenRules(folder)).toEqual([]);
  expect(readSuiteFolder(folder).request.merged?.missing).toEqual([{ index: 2, cases: 2 }]);
  await expect(acceptBaseline(folder, 'b.json', cwd)).rejects.toMatchObject({ code: 'incomplete' });
});

test('a shard cannot be accepted as a baseline, and a comparison says that it is a part', async () => {
  const whole = await suiteFolder(temporaryFolder(), { version: 'baseline', cases: PART_CASES });
  const part = await partFolder(2, 3);
  await expect(acceptBaseline(part, 'b.json', cwd)).rejects.toMatchObject({
    message: expect.stringContaining('is shard 2/3, only a part of the suite') as string,
  });
  const { comparison } = await compareRuns({ baseline: whole, candidate: part, cwd });
  expect(comparison).toMatchObject({ exit_code: 3 });
});

test.each([
  ['the same part twice', async (parts: string[]) => [...parts, parts[0] as string], 'PT4'],
  [
    'a case in two parts',
    async ([first]: string[]) => [
      first as string,
      await partFolder(2, 2, { cases: [...PART_CASES].reverse(), request: { shard: shardOf(first as string, 2) } }),
    ],
    'PT4',
  ],
  ['other settings', async ([first]: string[]) => [first as string, await otherPart({ secret_names: ['KEY'] })], 'PT3'],
  ['other cases', async ([first]: string[]) => [first as string, await partFolder(2, 2, { cases: OTHER })], 'PT3'],
  [
    'another version of Proctor',
    async ([first]: string[]) => [first as string, await partFolder(2, 2, { run: { runner_version: '0.0.9' } })],
    'PT3',
  ],
])('refuses %s', async (_, change, rule) => {
  await expect(merge(await change(await partFolders(2)))).rejects.toMatchObject({
    code: 'parts_contradict',
    message: expect.stringContaining(`(${rule})`) as string,
  });
});

const OTHER = PART_CASES.map(one => ({ ...one, user: 'Something else?' }));

function shardOf(folder: string, index: number) {
  const { shard } = readSuiteFolder(folder).request;
  return { ...(shard as NonNullable<typeof shard>), index };
}

async function otherPart(request: object): Promise<string> {
  const [first] = await partFolders(1, { cases: PART_CASES });
  const all = readSuiteFolder(first as string).request.shard?.all;
  return partFolder(2, 2, { request: { shard: { index: 2, total: 2, all: all as never }, ...request } });
}

test.each(['a.json', 'evidence/request.json', 'run.json'])(
  'refuses a part in which %s changed after it was sealed, and names it',
  async name => {
    const [first, second] = (await partFolders(2)) as [string, string];
    appendFileSync(path.join(second, name), '?');
    await expect(merge([first, second])).rejects.toMatchObject({
      code: 'part_invalid',
      message: expect.stringContaining('suite_20260106_120000_000000000002 does not verify') as string,
    });
  },
);

test('refuses a part that was sealed anew, without a signature or with another key', async () => {
  const ci = keyPair();
  const forger = keyPair();
  const first = await partFolder(1, 2, { signer: ci.signer });
  const keys = [ci.file];
  for (const signer of [undefined, forger.signer]) {
    const forged = await partFolder(2, 2, { signer });
    await expect(merge([first, forged], { keys })).rejects.toMatchObject({
      code: 'part_invalid',
      message: expect.stringContaining('(PT6)') as string,
    });
  }
  const { runs } = await merge([first, await partFolder(2, 2, { signer: ci.signer })], { keys });
  expect(runs).toHaveLength(1);
});

test('a merged run verifies with the keys of all parts; a revoked key names the cases that rest on it', async () => {
  const [one, two, collector] = [keyPair(), keyPair(), keyPair()];
  const parts = [await partFolder(1, 2, { signer: one.signer }), await partFolder(2, 2, { signer: two.signer })];
  const { runs } = await merge(parts, { keys: [one.file, two.file] });
  const folder = runs[0]?.place.folder as string;
  expect(await brokenRules(folder, { key: [one.pem, two.pem] })).toEqual([]);
  expect(await brokenRules(folder, { key: one.pem })).toEqual(['PT6']);
  expect(await brokenRules(folder, { key: collector.pem })).toEqual(['PT6']);
  const messages: string[] = [];
  for await (const { violations } of verify([folder], { key: [one.pem, two.pem], revoked: [two.pem] }))
    messages.push(...violations.map(({ message }) => message));
  expect(messages).toEqual([expect.stringContaining('Cases that rest on it: a, c, e') as string]);
});

test('refuses a run that is not a part, and a folder without packs', async () => {
  const whole = await suiteFolder(temporaryFolder(), { version: 'new', cases: PART_CASES });
  await expect(merge([whole])).rejects.toMatchObject({ code: 'not_a_part' });
  await expect(merge([temporaryFolder()])).rejects.toMatchObject({ code: 'no_parts' });
  await expect(merge([])).rejects.toMatchObject({ code: 'usage' });
});

test('writes nothing if a part does not verify', async () => {
  const [first, second] = (await partFolders(2)) as [string, string];
  writeFileSync(path.join(second, 'assets', 'manifest.json'), '{}');
  await expect(merge([first, second])).rejects.toMatchObject({ code: 'part_invalid' });
  expect(existsSync(path.join(cwd, '.proctor', 'runs', 'new'))).toBe(false);
});
