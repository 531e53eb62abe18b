import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { acceptBaseline, compareRuns, compareVersions } from '../../src/verbs/index.ts';
import { temporaryFolder } from '../support/support.ts';
import { suiteFolder } from '../support/suite-world.ts';

const IDS = ['greeting', 'order', 'refund'];

/** A project with a sealed run per name, whose listed cases fail. */
async function project(runs: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const cwd = temporaryFolder();
  for (const [runId, failing] of Object.entries(runs)) {
    await suiteFolder(path.join(cwd, '.proctor', 'runs'), {
      version: 'new',
      runId,
      cases: IDS.map(id => ({
        id,
        title: `About ${id}`,
        expected: { contains: 'yes' },
        artifact: { final_output: { content_type: 'text', content: failing.includes(id) ? 'no' : 'yes' } },
      })),
    });
  }
  return cwd;
}

const versions = (...runs: readonly string[]) => runs.map(run => ({ run }));

test('judges every pair of stored runs as compareRuns does, even with an accepted baseline', async () => {
  const cwd = await project({ v1: [], v2: ['order'], v3: ['order', 'refund'] });
  await acceptBaseline('v1', 'accepted.json', cwd);
  const words = ['accepted.json', 'v2', 'v3'];
  const options = { mode: 'strict', formats: [], cwd } as const;
  const { matrix } = await compareVersions({ versions: versions(...words), ...options });
  for (const { baseline, candidate, verdict, reason, cause } of matrix.pairs) {
    const [before, now] = [words[baseline] ?? '', words[candidate] ?? ''];
    const { comparison } = await compareRuns({ baseline: before, candidate: now, ...options });
    expect({ verdict, reason, cause }, `${before} and ${now}`).toEqual({
      verdict: comparison.verdict,
      reason: comparison.reason,
      cause: comparison.decision?.cause,
    });
  }
});

test('writes reports, seals nothing, and links to comparisons that exist', async () => {
  const cwd = await project({ v1: [], v2: ['order'], v3: [] });
  const first = await compareVersions({ versions: versions('v1', 'v2', 'v3'), formats: ['html', 'md', 'json'], cwd });
  expect(first.matrix).toMatchObject({
    is_evidence: false,
    versions: [{ name: 'v1' }, { name: 'v2' }, { name: 'v3' }],
  });
  expect(first.folder).toBe(path.join(cwd, '.proctor', 'reports', first.matrix.matrix_id));
  expect(existsSync(path.join(cwd, '.proctor', 'comparisons'))).toBe(false);
  expect(JSON.parse(readFileSync(first.files.json ?? '', 'utf8'))).toEqual(JSON.parse(JSON.stringify(first.matrix)));
  expect(readFileSync(first.files.md ?? '', 'utf8')).toContain('| `order` | passed | failed | passed |');

  const { comparison } = await compareRuns({ baseline: 'v1', candidate: 'v2', cwd });
  const pageOf = async (out?: string): Promise<string> => {
    const { files } = await compareVersions({ versions: versions('v1', 'v2', 'v3'), cwd, ...(out && { out }) });
    return readFileSync(files.html ?? '', 'utf8');
  };
  expect(await pageOf()).toContain(`../../comparisons/${comparison.comparison_id}/report.html`);
  // A page elsewhere may be sent to another person.
  expect(await pageOf('elsewhere')).not.toContain(comparison.comparison_id);
});

test('names versions as asked, and refuses unusable names and versions', async () => {
  const cwd = await project({ v1: [], v2: [], v3: [] });
  const { matrix } = await compareVersions({
    versions: [{ run: 'v1', name: '<b>\u202eone' }, { run: 'v2' }, { run: 'v3' }],
    formats: [],
    cwd,
  });
  expect(matrix.versions.map(({ name }) => name)).toEqual(['<b>\u202eone', 'v2', 'v3']);
  const compare = compareVersions as (options: object) => Promise<unknown>;
  const nine = Array.from({ length: 10 }, (_, index) => `r${index}`);
  const cases: readonly (readonly [object, string])[] = [
    [{ versions: versions(...nine) }, 'at most 8 versions, and you named 10. Leave out "r8", "r9".'],
    [{ versions: versions('v1') }, 'at least two versions'],
    [{ versions: ['v1', 'v2'] }, 'a list of objects with run'],
    [{ versions: [null, null] }, 'a list of objects with run'],
    [{ runs: [] }, 'has no option "runs"'],
    [{ versions: versions('v1', 'v2', 'v1') }, 'are the same run'],
    [{ versions: versions('v1', 'v2', 'gone.json') }, 'There is no run "gone.json" yet.'],
    [{ versions: [{ run: 'v1', name: ' ' }, { run: 'v2' }] }, 'has 1 to 40 characters'],
    [{ versions: [{ run: 'v1', name: 'v2' }, { run: 'v2' }] }, 'Two versions have the name "v2".'],
    [{ versions: versions('v1', 'v2'), formats: ['junit'] }, 'There is no junit report'],
    [{ versions: versions('v1', 'v2'), out: '.proctor/runs/new/v1' }, 'belongs to a sealed run'],
  ];
  for (const [options, words] of cases) await expect(compare({ cwd, ...options })).rejects.toThrow(words);
});

test('stops between two pairs if it is cancelled', async () => {
  const cwd = await project({ v1: [], v2: [], v3: [] });
  const cancelled = AbortSignal.abort();
  await expect(compareVersions({ versions: versions('v1', 'v2', 'v3'), cwd, signal: cancelled })).rejects.toThrow(
    /cancelled/i,
  );
  expect(existsSync(path.join(cwd, '.proctor', 'reports'))).toBe(false);
});
