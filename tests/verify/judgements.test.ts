import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { acceptedFrom } from '../../src/judge/compare/baseline.ts';
import { evaluateSuite, writeEvaluation } from '../../src/judge/suite/evaluate.ts';
import { trialFrom } from '../../src/judge/compare/side.ts';
import { comparisonExample } from '../../src/contracts/comparison/example.ts';
import type { Foundation } from '../../src/contracts/judgement-seal/index.ts';
import { type SealEnvelope, sealEnvelope, type SealStatement, signerWith } from '../../src/contracts/seal/index.ts';
import { sealComparison, writeComparison } from '../../src/evidence/judgement/comparison-files.ts';
import { type Options, verify } from '../../src/verify/index.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { temporaryFolder } from '../support/support.ts';
import { brokenIn, verdictsOf } from './folders.ts';

const mine = generateKeyPairSync('ed25519');
const theirs = generateKeyPairSync('ed25519');
const signer = signerWith(mine.privateKey);
const stranger = signerWith(theirs.privateKey);
const REQUIRED: Options = {
  key: mine.publicKey.export({ type: 'spki', format: 'pem' }) as string,
  requireSignature: true,
};
const noCheck = () => Promise.reject(new Error('no case has a check script'));

let signedRun = '';
let unsignedRun = '';

async function judgedRun(by: typeof signer | undefined, runId: string): Promise<string> {
  const folder = await suiteFolder(temporaryFolder(), { cases: [{ id: 'one' }], runId, signer: by });
  writeEvaluation(folder, await evaluateSuite(folder, { runCheck: noCheck }), by);
  return folder;
}

beforeEach(async () => {
  signedRun = await judgedRun(signer, 'suite_20260106_120000_aaaaaaaaaaaa');
  unsignedRun = await judgedRun(undefined, 'suite_20260106_120000_bbbbbbbbbbbb');
});

function copyOf(folder: string): string {
  const copy = path.join(temporaryFolder(), path.basename(folder));
  cpSync(folder, copy, { recursive: true });
  return copy;
}

const EVALUATION = 'evaluation.json';
const SEAL = 'evaluation.seal.json';

describe('the evaluation of a signed run', () => {
  test('is valid with its seal, and needs no key', async () => {
    expect(await brokenIn(signedRun)).toEqual([]);
    expect(await brokenIn(signedRun, REQUIRED)).toEqual([]);
    expect((await verdictsOf(signedRun, REQUIRED)).at(-1)?.signatures).toMatchObject({ signed: 2, checked: true });
  });

  const sealedBy = async (folder: string, by: typeof signer | undefined): Promise<void> =>
    writeEvaluation(folder, await evaluateSuite(folder, { runCheck: noCheck }), by);
  const edit = (folder: string, name: string, change: (text: string) => string): void =>
    writeFileSync(path.join(folder, name), change(readFileSync(path.join(folder, name), 'utf8')));
  type Attempt = [string, (folder: string) => unknown, Options, string[]];
  const attempts: Attempt[] = [
    [
      'was changed',
      folder => edit(folder, EVALUATION, text => text.replace('0.0.0-source', '0.0.0-sourcf')),
      {},
      [`JS6 ${EVALUATION}`, `JS8 ${SEAL}#payload.predicate.judge_version`],
    ],
    ['lacks its seal', folder => rmSync(path.join(folder, SEAL)), {}, [`JS7 ${EVALUATION}`]],
    [
      'is missing, although its seal exists',
      folder => rmSync(path.join(folder, EVALUATION)),
      {},
      [`JS6 ${EVALUATION}`],
    ],
    ['was sealed again without a key', folder => sealedBy(folder, undefined), {}, [`JS9 ${SEAL}`]],
    ['was sealed again with another key', folder => sealedBy(folder, stranger), {}, [`JS9 ${SEAL}`]],
    [
      'was sealed again with another key under the id of this key',
      folder => sealedBy(folder, { ...stranger, keyId: signer.keyId }),
      REQUIRED,
      [`SL9 ${SEAL}`],
    ],
    [
      'has the seal of a comparison',
      folder => renameSync(path.join(folder, SEAL), path.join(folder, 'evidence', 'comparison.seal.json')),
      {},
      [
        'JS6 evidence/evaluation.json',
        `JS7 ${EVALUATION}`,
        'JS8 evidence/comparison.seal.json#payload.predicate.kind',
        'SL6 evidence/comparison.seal.json',
      ],
    ],
  ];
  test.each(attempts)('is rejected if it %s', async (_, change, options, broken) => {
    const folder = copyOf(signedRun);
    await change(folder);
    expect(await brokenIn(folder, options)).toEqual(broken);
  });

  test('is rejected if both files belong to another run', async () => {
    const folder = copyOf(signedRun);
    const other = await judgedRun(signer, 'suite_20260106_120000_cccccccccccc');
    for (const name of [EVALUATION, SEAL]) copyFileSync(path.join(other, name), path.join(folder, name));
    expect(await brokenIn(folder)).toEqual([
      `FD10 ${EVALUATION}#run_id`,
      `FD10 ${EVALUATION}#seal_sha256`,
      `JS8 ${SEAL}#payload.predicate.rests_on[0].seal_sha256`,
    ]);
  });
});

describe('the evaluation of a run from before evaluations were sealed', () => {
  /** The same run with a seal of an older version. */
  function oldRun(folder: string, by?: typeof signer): string {
    const copy = copyOf(folder);
    const file = path.join(copy, 'evidence', 'seal.json');
    const envelope = JSON.parse(readFileSync(file, 'utf8')) as SealEnvelope;
    const statement = JSON.parse(Buffer.from(envelope.payload, 'base64').toString()) as SealStatement;
    const { evaluation_sealed: _, ...predicate } = statement.predicate;
    writeFileSync(file, canonicalize(sealEnvelope({ ...statement, predicate }, by)));
    return copy;
  }

  test('gives advice without a seal, and is invalid if signatures are required', async () => {
    const folder = oldRun(signedRun, signer);
    writeEvaluation(folder, await evaluateSuite(folder, { runCheck: noCheck }), undefined);
    rmSync(path.join(folder, SEAL));
    expect(await brokenIn(folder)).toEqual([]);
    const advice = (await verdictsOf(folder)).at(-1)?.advice ?? [];
    expect(advice.map(({ rule_id, path: at }) => `${rule_id} ${at}`)).toContain(`JS7 ${EVALUATION}`);
    expect(await brokenIn(folder, REQUIRED)).toEqual([`JS7 ${EVALUATION}`]);
  });
});

describe('a comparison', () => {
  const { baseline, new: candidate } = comparisonExample.sides;
  const restsOn: Foundation[] = [
    ...(['baseline', 'new'] as const).flatMap(side =>
      comparisonExample.sides[side].run_ids.map(
        (id, index) =>
          ({ what: 'run', side, id, seal_sha256: comparisonExample.sides[side].seals[index] as string }) as const,
      ),
    ),
  ];

  function comparisonFolder(by: typeof signer | undefined, on = restsOn): string {
    const folder = path.join(temporaryFolder(), comparisonExample.comparison_id);
    mkdirSync(folder);
    writeComparison(folder, comparisonExample);
    writeFileSync(path.join(folder, 'report.html'), '<p>worse</p>');
    sealComparison(folder, comparisonExample, ['report.html'], on, by);
    return folder;
  }

  test('in the example refers to runs on both sides', () => {
    expect([baseline.source, candidate.source]).toEqual(['runs', 'runs']);
  });

  test('is valid with its seal, with and without a key', async () => {
    expect(await brokenIn(comparisonFolder(undefined))).toEqual([]);
    expect(await brokenIn(comparisonFolder(signer), REQUIRED)).toEqual([]);
  });

  type Attempt = [string, (folder: string) => unknown, Options, string[]];
  const attempts: Attempt[] = [
    ['has another report', folder => writeFileSync(path.join(folder, 'report.html'), 'x'), {}, ['JS6 report.html']],
    ['lacks a report', folder => rmSync(path.join(folder, 'report.html')), {}, ['JS6 report.html']],
    [
      'has a file that its seal does not list',
      folder => writeFileSync(path.join(folder, 'more.html'), 'x'),
      REQUIRED,
      ['SL10 more.html'],
    ],
    [
      'lacks its seal',
      folder => rmSync(path.join(folder, 'comparison.seal.json')),
      REQUIRED,
      ['JS7 comparison.json', 'SL10 comparison.json'],
    ],
  ];
  test.each(attempts)('is rejected if it %s', async (_, change, options, broken) => {
    const folder = comparisonFolder(signer);
    change(folder);
    expect(await brokenIn(folder, options)).toEqual(broken);
  });

  test('is rejected if its seal refers to other runs', async () => {
    const seal_sha256 = `sha256:${'0'.repeat(64)}`;
    const other = restsOn.map(({ what, side = 'new', id }) => ({ what, side, id, seal_sha256 }));
    const broken = await brokenIn(comparisonFolder(undefined, other));
    expect(new Set(broken)).toEqual(new Set(['JS8 comparison.seal.json#payload.predicate.rests_on']));
  });

  test('is invalid without a required signature', async () => {
    expect(await brokenIn(comparisonFolder(undefined), REQUIRED)).toEqual(['SL10 comparison.seal.json']);
  });
});

describe('a baseline', () => {
  async function accepted(by: typeof signer | undefined): Promise<Record<string, unknown>> {
    const evaluation = await evaluateSuite(unsignedRun, { runCheck: noCheck });
    const side = { source: 'runs', trials: [trialFrom(unsignedRun, evaluation)] } as const;
    return { ...acceptedFrom(side, '2026-01-06T12:30:00.000Z', by) };
  }

  async function rulesOf(document: object, options: Options = {}): Promise<string[]> {
    const file = path.join(temporaryFolder(), 'any-name.json');
    writeFileSync(file, JSON.stringify(document, null, 2));
    const rules: string[] = [];
    for await (const { violations, outcome } of verify([file], options)) {
      rules.push(...violations.map(({ rule_id }) => rule_id));
      if (violations.length === 0) rules.push(outcome);
    }
    return rules;
  }

  test('is valid with its seal, whatever its formatting and file name', async () => {
    expect(await rulesOf(await accepted(undefined))).toEqual(['valid']);
    expect(await rulesOf(await accepted(signer), REQUIRED)).toEqual(['valid']);
  });

  test('is rejected if it was changed, sealed again, or lost its seal', async () => {
    const signed = await accepted(signer);
    const { seal: _, ...bare } = signed;
    expect(await rulesOf({ ...signed, conditions: { 'target.kind': 'script' } })).toEqual(['BL5']);
    expect(await rulesOf(await accepted(undefined), REQUIRED)).toEqual(['SL10']);
    expect(await rulesOf(await accepted(stranger), REQUIRED)).toEqual(['SL8']);
    expect(await rulesOf(await accepted({ ...stranger, keyId: signer.keyId }), REQUIRED)).toEqual(['SL9']);
    expect(await rulesOf(bare)).toEqual(['valid']);
    expect(await rulesOf(bare, REQUIRED)).toEqual(['SL10']);
  });

  test('is also verified with a key as part of a folder', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'proctor-baseline.json');
    writeFileSync(file, canonicalize(await accepted(signer)));
    expect(await brokenIn(folder, REQUIRED)).toEqual([]);
    writeFileSync(file, canonicalize(await accepted(undefined)));
    expect(await brokenIn(folder, REQUIRED)).toEqual(['SL10 proctor-baseline.json']);
  });
});
