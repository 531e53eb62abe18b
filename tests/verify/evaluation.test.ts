import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import type { Evaluation } from '../../src/contracts/evaluation/index.ts';
import { evaluateSuite, writeEvaluation } from '../../src/judge/suite/evaluate.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { temporaryFolder } from '../support/support.ts';
import { brokenIn, verdictsOf } from './folders.ts';

const noCheck = () => Promise.reject(new Error('no case has a check script'));

let folder: string;
let evaluation: Evaluation;

beforeEach(async () => {
  folder = await suiteFolder(temporaryFolder(), {
    cases: [{ id: 'one', expected: { contains: 'answer' } }, { id: 'two' }],
  });
  evaluation = await evaluateSuite(folder, { runCheck: noCheck });
});

describe('the evaluation of a run', () => {
  test('may follow the seal, at the top or in evidence/', async () => {
    writeEvaluation(folder, evaluation, undefined);
    expect(await brokenIn(folder)).toEqual([]);
    for (const name of ['evaluation.json', 'evaluation.seal.json']) {
      renameSync(path.join(folder, name), path.join(folder, 'evidence', name));
    }
    expect(await brokenIn(folder)).toEqual([]);
  });

  const other = bytesHash('another');
  const breaches: [string, Partial<Evaluation>, string][] = [
    ['with the hash of another seal', { seal_sha256: other }, 'seal_sha256'],
    ['with the hash of other cases', { cases_sha256: other }, 'cases_sha256'],
    ['with the id of another run', { run_id: 'suite_other' }, 'run_id'],
    ['of the other side', { version: 'new' }, 'version'],
  ];
  const byTheSeal = (line: string): boolean => !line.startsWith('JS');

  test.each(breaches)('%s violates FD10', async (_, change, at) => {
    writeEvaluation(folder, { ...evaluation, ...change }, undefined);
    expect((await brokenIn(folder)).filter(byTheSeal)).toEqual([`FD10 evaluation.json#${at}`]);
  });

  describe('with limits', () => {
    beforeEach(async () => {
      folder = await suiteFolder(temporaryFolder(), {
        cases: [{ id: 'one', expected: { contains: 'no such words' } }],
        gate: { limits: { max_failing: 0 } },
      });
      evaluation = await evaluateSuite(folder, { runCheck: noCheck });
    });

    test('that were requested is valid', async () => {
      expect(evaluation.gate?.checks).toMatchObject([{ limit: 'max_failing', measured: 1, is_met: false }]);
      writeEvaluation(folder, evaluation, undefined);
      expect(await brokenIn(folder)).toEqual([]);
    });

    test('that were not requested violates FD10', async () => {
      const [check] = evaluation.gate?.checks ?? [];
      const message = '1 of 1 case fails, and at most 1 may (max_failing).';
      const gate = { limits: { max_failing: 1 }, checks: [{ ...check, allowed: 1, is_met: true, message }] };
      writeEvaluation(folder, { ...evaluation, gate } as Evaluation, undefined);
      expect(await brokenIn(folder)).toEqual(['FD10 evaluation.json#gate']);
    });

    test('that were left out violates FD10', async () => {
      const { gate: _gate, ...others } = evaluation;
      writeEvaluation(folder, others, undefined);
      expect(await brokenIn(folder)).toEqual(['FD10 evaluation.json#gate']);
    });

    test('over runs that are not its repetitions violates FD10', async () => {
      const tally = {
        passed: 0,
        failed: 1,
        unjudged: 0,
        missing: 0,
        timed: 0,
        latency_ms: 0,
        priced: 0,
        unpriced: 0,
        cost_usd: 0,
      };
      const earlier = { run_ids: ['other'], seals: [other], cases: [{ case_id: 'one', tally }] };
      writeEvaluation(folder, { ...evaluation, gate: { ...evaluation.gate, earlier } } as Evaluation, undefined);
      expect(await brokenIn(folder)).toEqual(['FD10 evaluation.json#gate']);
    });
  });

  describe('with repaired replies', () => {
    beforeEach(async () => {
      const attempt = { attempt: 1, started_at: '2026-01-06T12:00:00.000Z', latency_ms: 12, outcome: 'ok' } as const;
      folder = await suiteFolder(temporaryFolder(), {
        cases: [
          { id: 'one', artifact: { attempts: [{ ...attempt, repairs: { R6: 2 } }] } },
          { id: 'two', artifact: { attempts: [{ ...attempt, repairs: { R6: 1, R9: 4 } }] } },
        ],
      });
      evaluation = await evaluateSuite(folder, { runCheck: noCheck });
    });

    test('is valid if it counts them', async () => {
      expect(evaluation.repairs).toEqual({ R6: 3, R9: 4 });
      writeEvaluation(folder, evaluation, undefined);
      expect(await brokenIn(folder)).toEqual([]);
    });

    test('violates FD10 if it hides or changes them', async () => {
      const { repairs: _, ...others } = evaluation;
      const bare = others.cases.map(({ repairs: _repairs, ...one }) => one);
      writeEvaluation(folder, { ...others, cases: bare }, undefined);
      expect(await brokenIn(folder)).toEqual(['FD10 evaluation.json#repairs']);
      const fewer = others.cases.map(one => ({ ...one, repairs: { R6: 1 } }));
      writeEvaluation(folder, { ...others, cases: fewer, repairs: { R6: 2 } }, undefined);
      expect(await brokenIn(folder)).toEqual(['FD10 evaluation.json#repairs']);
    });
  });

  test('is detected if it was moved to another run', async () => {
    const elsewhere = await suiteFolder(temporaryFolder(), { version: 'new', cases: [{ id: 'other' }] });
    writeEvaluation(elsewhere, evaluation, undefined);
    expect((await brokenIn(elsewhere)).filter(byTheSeal)).toEqual(
      ['cases_sha256', 'run_id', 'seal_sha256', 'version'].map(at => `FD10 evaluation.json#${at}`),
    );
  });

  test('is invalid without its run', async () => {
    const alone = temporaryFolder();
    writeEvaluation(alone, evaluation, undefined);
    expect(await brokenIn(alone)).toEqual(
      ['cases_sha256', 'run_id', 'seal_sha256'].map(at => `FD10 evaluation.json#${at}`),
    );
  });

  test('must be in evaluation.json', async () => {
    const alone = temporaryFolder();
    writeFileSync(path.join(alone, 'verdicts.json'), canonicalize(evaluation));
    expect(await brokenIn(alone)).toEqual(['FD10 verdicts.json#schema_version']);
  });

  test('is not blamed for an invalid run', async () => {
    writeEvaluation(folder, evaluation, undefined);
    const file = path.join(folder, 'run.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"selected_case_ids":[', '"selected_case_ids":[7,'));
    const { violations } = (await verdictsOf(folder)).at(-1) ?? { violations: [] };
    expect(violations.map(({ rule_id, path }) => `${rule_id} ${path}`)).toEqual(['SL5 run.json']);
    rmSync(file);
    expect(await brokenIn(folder)).toContain('FD10 evaluation.json#run_id');
  });

  test('without a version field is recognised by its file name', async () => {
    writeFileSync(path.join(folder, 'evaluation.json'), '{}');
    const verdict = (await verdictsOf(folder)).find(({ input }) => input.endsWith('evaluation.json'));
    expect(verdict).toMatchObject({ outcome: 'invalid', contract: 'evaluation' });
  });
});

test('applies the size limit of a format that the file name determines', async () => {
  const [first] = evaluation.cases;
  const cases = Array.from({ length: 50_000 }, (_, index) => ({ ...first, case_id: `case-${index}` }));
  const large = { ...evaluation, cases, summary: { total: 50_000, passed: 50_000, failed: 0, errors: 0, unjudged: 0 } };
  writeEvaluation(folder, large as Evaluation, undefined);
  expect(Buffer.byteLength(canonicalize(large))).toBeGreaterThan(16 * 1024 * 1024);
  expect(await brokenIn(folder)).toEqual([]);
  const outcomes = async (name: string): Promise<string | undefined> => {
    renameSync(path.join(folder, 'evaluation.json'), path.join(folder, name));
    return (await verdictsOf(folder)).find(({ input }) => input.endsWith(name))?.reason?.code;
  };
  expect(await outcomes('verdicts.json')).toBe('too_large');
});
