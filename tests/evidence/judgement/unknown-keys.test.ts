import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import { type Evaluation, evaluation } from '../../../src/contracts/evaluation/index.ts';
import { seal } from '../../../src/contracts/seal/index.ts';
import { findEvaluation, writeEvaluationFiles } from '../../../src/evidence/judgement/evaluation-files.ts';
import { evaluationSumsIn } from '../../../src/evidence/judgement/evaluation-sums.ts';
import { temporaryFolder } from '../../support/support.ts';

const example = evaluation.example as Evaluation;

/** A run folder with a seal and a sealed evaluation. */
function folderWith(runSeal: object, summary: object): string {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'evidence'));
  const sealText = canonicalize({ ...(seal.example as object), ...runSeal });
  writeFileSync(path.join(folder, 'evidence', 'seal.json'), sealText);
  const judged = { ...example, seal_sha256: bytesHash(sealText), summary: { ...example.summary, ...summary } };
  writeEvaluationFiles(folder, canonicalize(judged), judged, undefined);
  return folder;
}

test('a summary with a key from a newer version is read', () => {
  expect(evaluationSumsIn(folderWith({}, {}))?.summary).toEqual(example.summary);
  expect(evaluationSumsIn(folderWith({}, { later: 1 }))?.summary).toEqual({ ...example.summary, later: 1 });
});

test('a summary that violates its shape is not read', () => {
  expect(evaluationSumsIn(folderWith({}, { passed: 'all' }))).toBeUndefined();
});

test('a run seal with a key from a newer version is read', () => {
  expect(findEvaluation(folderWith({}, {}), evaluation, undefined).state).toBe('sound');
  expect(findEvaluation(folderWith({ later: 1 }, {}), evaluation, undefined).state).toBe('sound');
});

test('a run seal that violates its shape is not read', () => {
  expect(findEvaluation(folderWith({ signatures: 'none' }, {}), evaluation, undefined)).toMatchObject({
    state: 'broken',
    why: 'belongs to a run without a readable seal',
  });
});
