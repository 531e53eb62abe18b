import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Matrix } from '../../src/contracts/matrix.ts';
import { acceptBaseline } from '../../src/verbs/index.ts';
import { proctor } from '../support/support.ts';
import { suiteFolder } from '../support/suite-world.ts';

const IDS = ['greeting', 'order', 'refund'];
const cwd = mkdtempSync(path.join(tmpdir(), 'proctor-versions-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** A sealed run of three cases, some of which fail. */
const run = (runId: string, failing: readonly string[], version: 'baseline' | 'new' = 'new') =>
  suiteFolder(path.join(cwd, '.proctor', 'runs'), {
    version,
    runId,
    cases: IDS.map(id => ({
      id,
      title: `About ${id}`,
      expected: { contains: 'yes' },
      artifact: { final_output: { content_type: 'text', content: failing.includes(id) ? 'no' : 'yes' } },
    })),
  });

beforeAll(async () => {
  await run('v1', [], 'baseline');
  await run('v2', []);
  await run('v3', ['refund']);
  await run('same', []);
  await run('same', ['order'], 'baseline');
});

const compare = (...args: readonly string[]) => proctor(['compare', ...args], { cwd });
const json = (...args: readonly string[]): Matrix & { reports: Record<string, string> } =>
  JSON.parse(compare(...args, '--json').stdout);

describe('compare with three runs', () => {
  test('prints a table of 80 columns with the verdict last, and writes a page', () => {
    const { code, stdout, stderr } = compare('v1', 'v2', 'v3', '--gate', 'strict');
    expect(code).toBe(1);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.at(-1)).toBe('✗ Regression  1 of 2 versions is worse than “v1”: “v3”.');
    expect(lines.filter(line => line.length > 80)).toEqual([]);
    expect(stdout).toMatch(/1 v1 +100 % \(44–100 %\) +1 +0 +– +\S+ ms +–\n/);
    expect(stdout).toMatch(/refund +✓ +✓ +✗\n/);
    expect(stdout).toContain('A matrix is a report, not evidence.');
    expect(stderr).toMatch(/report {2}\.proctor\/reports\/matrix_\w+\/report\.html/);
    expect(existsSync(path.join(cwd, '.proctor', 'comparisons'))).toBe(false);
  });

  test.each([
    ['0: no version is worse', ['v1', 'v2', 'new/same', '--gate', 'strict'], 0, 'no_regression'],
    ['1: a version is worse', ['v1', 'v2', 'v3', '--gate', 'strict'], 1, 'regression'],
    ['3: one trial is not enough', ['v1', 'v2', 'v3'], 3, 'not_enough_evidence'],
    ['0: the worst is the reference', ['v3', 'v2', 'v1', '--gate', 'strict'], 0, 'no_regression'],
    [
      '1: a version after the first is worse',
      ['v3', 'v2', 'baseline/same', '--gate', 'strict', '--all-pairs'],
      1,
      'regression',
    ],
  ] as const)('exits with %s', (_, args, code, verdict) => {
    const ran = compare(...args, '--json');
    expect([ran.code, (JSON.parse(ran.stdout) as Matrix).verdict]).toEqual([code, verdict]);
  });

  test('prints JSON without cases, and writes the requested formats', () => {
    const { reports, versions, pairs, is_evidence, ...rest } = json('v1', 'v2', 'v3', '--format', 'html,md,json');
    expect(Object.keys(reports)).toEqual(['html', 'md', 'json']);
    expect(rest).not.toHaveProperty('cases');
    expect([versions.map(({ name }) => name), pairs.length, is_evidence]).toEqual([['v1', 'v2', 'v3'], 6, false]);
    const stored = JSON.parse(readFileSync(path.join(cwd, reports['json'] ?? ''), 'utf8')) as Matrix;
    expect(stored.cases.map(({ case_id, title }) => [case_id, title])[0]).toEqual(['refund', 'About refund']);
    expect(readFileSync(path.join(cwd, reports['md'] ?? ''), 'utf8')).toContain(
      '| `refund` | passed | passed | failed |',
    );
  });

  test('takes names, even for runs that contain "=", and an accepted baseline', async () => {
    await acceptBaseline('v1', 'proctor-baseline.json', cwd);
    const made = json('proctor-baseline.json', 'v2', 'v3', '--name', 'v2=the=new', '--name', 'v3=a b');
    expect(made.versions.map(({ name, source }) => [name, source])).toEqual([
      ['proctor-baseline', 'accepted'],
      ['the=new', 'runs'],
      ['a b', 'runs'],
    ]);
  });

  test('links to the report of a pair that was compared, but not from a page elsewhere', () => {
    const made = JSON.parse(compare('v1', 'v3', '--json').stdout) as { comparison_id: string };
    const page = (...args: readonly string[]): string =>
      readFileSync(path.join(cwd, json('v1', 'v2', 'v3', ...args).reports['html'] ?? ''), 'utf8');
    expect(page()).toContain(`../../comparisons/${made.comparison_id}/report.html`);
    expect(page('--out', 'elsewhere')).not.toContain(made.comparison_id);
    expect(readdirSync(path.join(cwd, 'elsewhere'))).toEqual(['report.html']);
  });

  test.each([
    [
      'nine runs',
      Array.from({ length: 9 }, (_, index) => `r${index}`),
      'at most 8 versions, and you named 9. Leave out "r8".',
    ],
    ['the same run twice', ['v1', 'v2', 'v1'], 'are the same run'],
    ['an unknown run', ['v1', 'v2', 'v9'], 'There is no run "v9".'],
    ['an ambiguous run', ['v1', 'v2', 'same'], '2 runs have the name "same"'],
    ['a missing baseline file', ['gone.json', 'v2', 'v3'], 'There is no run "gone.json" yet.'],
    ['--again', ['v1', 'v2', 'v3', '--again'], '--again needs exactly two runs.'],
    [
      '--baseline-url',
      ['v1', 'v2', 'v3', '--baseline-url', 'http://127.0.0.1:1'],
      '--baseline-url needs exactly two runs.',
    ],
    [
      'a format without a matrix',
      ['v1', 'v2', 'v3', '--format', 'junit'],
      'There is no junit report of three or more runs.',
    ],
    ['a name for no run', ['v1', 'v2', 'v3', '--name', 'v4=x'], 'names none of the runs'],
    ['an empty name', ['v1', 'v2', 'v3', '--name', 'v1='], 'has 1 to 40 characters'],
    ['a name that is taken', ['v1', 'v2', 'v3', '--name', 'v1=v2'], 'Two versions have the name "v2".'],
    ['--all-pairs with two runs', ['v1', 'v2', '--all-pairs'], 'apply to three or more runs'],
    ['a folder of a sealed run', ['v1', 'v2', 'v3', '--out', '.proctor/runs/new/v2'], 'belongs to a sealed run'],
  ] as const)('refuses %s', (_, args, words) => {
    const { code, stderr } = compare(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });
});
