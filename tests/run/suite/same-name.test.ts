/** Both sides of a suite may have a run of the same name, with separate folders and ledger lines. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import type { LedgerLine } from '../../../src/contracts/ledger/index.ts';
import { compareRuns } from '../../../src/verbs/compare.ts';
import { packRun } from '../../../src/verbs/pack.ts';
import { runsNotHere, reportSubject } from '../../../src/verbs/report.ts';
import { runFolderOf } from '../../../src/verbs/runs.ts';
import { verify } from '../../../src/verify/index.ts';
import { temporaryFolder } from '../../support/support.ts';
import { Agent } from './agent.ts';
import { expectValid, type Ran, ranSuite } from './support.ts';

type Side = 'baseline' | 'new';

async function place() {
  const cwd = temporaryFolder();
  const baseUrl = await new Agent().start();
  const run = (as: Side, over: object = {}): Promise<Ran> =>
    ranSuite([{ id: 'one', expected: { contains: 'asked' } }], { cwd, as, runId: 'nightly', baseUrl, ...over });
  const ledger = path.join(cwd, '.proctor', 'ledger.ndjson');
  const lines = (): LedgerLine[] =>
    readFileSync(ledger, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as LedgerLine);
  return { cwd, run, ledger, lines };
}

const taken = expect.objectContaining({ code: 'run_exists' }) as Error;

test('runs of both sides may share a name, and each has its own line', async () => {
  const { cwd, run, lines } = await place();
  await run('baseline', { repeat: 2 });
  await run('new', { repeat: 2 });
  expect(lines().map(({ version, run_id }) => `${version}/${run_id}`)).toEqual([
    'baseline/nightly',
    'baseline/nightly.2',
    'new/nightly',
    'new/nightly.2',
  ]);
  await expectValid(path.join(cwd, '.proctor'));
  await expectValid(path.join(cwd, '.proctor', 'ledger.ndjson'));
});

test('a name stays taken on its side, even if the run is gone', async () => {
  const { cwd, run } = await place();
  await run('baseline');
  await expect(run('baseline')).rejects.toThrow(taken);
  rmSync(path.join(cwd, '.proctor', 'runs', 'baseline', 'nightly'), { recursive: true });
  await expect(run('baseline')).rejects.toThrow('The ledger already has a run named');
  await run('new');
});

test('a line without a side reserves its name on both', async () => {
  const { cwd, run, ledger, lines } = await place();
  await run('baseline');
  const [{ version: _, ...older }] = lines() as [LedgerLine];
  writeFileSync(ledger, `${canonicalize(older)}\n`);
  await expectValid(path.join(cwd, '.proctor'));
  await expect(run('new')).rejects.toThrow('The ledger already has a run named');
});

test('a shared name is compared across sides, and never with itself', async () => {
  const { cwd, run } = await place();
  await run('baseline');
  const compare = (baseline: string, candidate: string) => compareRuns({ baseline, candidate, cwd, formats: [] });
  await expect(compare('nightly', 'nightly')).rejects.toMatchObject({ code: 'same_run' });
  await run('new');
  const { comparison } = await compare('nightly', 'nightly');
  expect(comparison.sides.baseline.run_ids).toEqual(['nightly']);
  expect(comparison.sides.new.run_ids).toEqual(['nightly']);
  expect(comparison.sides.baseline.seals).not.toEqual(comparison.sides.new.seals);
  await expect(compare('baseline/nightly', 'baseline/nightly')).rejects.toMatchObject({ code: 'same_run' });
  await expectValid(path.join(cwd, '.proctor'));
  const { subject } = await reportSubject(comparison.comparison_id, cwd);
  expect(runsNotHere(subject)).toEqual([]);
});

test('a shared name needs its side where the name alone is ambiguous', async () => {
  const { cwd, run } = await place();
  await run('baseline');
  expect(runFolderOf(cwd, 'nightly')).toMatchObject({ lane: 'baseline' });
  await run('new');
  expect(() => runFolderOf(cwd, 'nightly')).toThrow(
    expect.objectContaining({
      code: 'ambiguous_run',
      message: '2 runs have the name "nightly": baseline/nightly, new/nightly. Specify one of these.',
    }),
  );
  expect(runFolderOf(cwd, 'new/nightly')).toMatchObject({ lane: 'new', id: 'nightly' });
  const reports = await Promise.all(['baseline/nightly', 'new/nightly'].map(word => reportSubject(word, cwd)));
  expect(reports.map(({ folder }) => path.basename(folder))).toEqual(['baseline-nightly', 'new-nightly']);
  expect(await packRun('new/nightly', { cwd, out: 'new.pack' })).toMatchObject({ hasLedgerLine: true });
  await expectValid(path.join(cwd, 'new.pack'));
});

test('a duplicate line is found on either side', async () => {
  const { run, ledger, lines } = await place();
  await run('baseline');
  await run('new');
  const last = lines().at(-1) as LedgerLine;
  const again = { ...last, sequence: 3, previous_sha256: bytesHash(`${canonicalize(last)}\n`) };
  writeFileSync(ledger, [...lines(), again].map(line => `${canonicalize(line)}\n`).join(''));
  const broken: string[] = [];
  for await (const { violations } of verify([ledger])) broken.push(...violations.map(({ rule_id }) => rule_id));
  expect(broken).toEqual(['LD3']);
});
