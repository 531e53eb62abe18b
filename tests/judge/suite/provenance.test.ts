import { describe, expect, test } from 'vitest';
import { check } from '../../../src/contracts/check.ts';
import { evaluation as contract } from '../../../src/contracts/evaluation/index.ts';
import type { Side } from '../../../src/judge/compare-input.ts';
import { evaluateSuite } from '../../../src/judge/suite/evaluate.ts';
import { Provenance } from '../../../src/judge/suite/provenance.ts';
import { trialFrom } from '../../../src/judge/compare/side.ts';
import { acceptedFrom, sideFromAccepted } from '../../../src/judge/compare/baseline.ts';
import { suiteFolder } from '../../support/suite-world.ts';
import { temporaryFolder } from '../../support/support.ts';
import { compared, judgedCase, trial } from '../compare/sides.ts';

const seenIn = (...fields: Record<string, unknown>[]) => {
  const provenance = new Provenance();
  for (const agent_fields of fields) provenance.take({ agent_fields });
  return provenance.seen();
};

describe('the provenance in answers', () => {
  const rows: [string, Record<string, unknown>, object | undefined][] = [
    [
      'from the provenance object',
      { provenance: { model: 'm-1', prompt_version: 'p7' } },
      { model: ['m-1'], prompt_version: ['p7'] },
    ],
    ['from top-level fields', { model: 'm-1', commit_sha: 'abc' }, { model: ['m-1'], commit: ['abc'] }],
    ["with the model's version", { model: 'm-1', model_version: '2026-02' }, { model: ['m-1 2026-02'] }],
    [
      'as an object with sorted keys',
      { parameters: { top_p: 1, temperature: 0 } },
      { parameters: ['{"temperature":0,"top_p":1}'] },
    ],
    ['as absent if the values are empty', { model: '', commit: null, image: undefined }, undefined],
    ['with control characters escaped', { image: 'a\u001b[2J' }, { image: ['a\\u{1b}[2J'] }],
  ];
  test.each(rows)('is read %s', (_, fields, expected) => {
    expect(seenIn(fields)).toEqual(expected);
  });

  test('keeps each distinct value once, and at most five', () => {
    const models = Array.from({ length: 20 }, (_, index) => ({ model: `m-${index % 8}` }));
    expect(seenIn(...models)?.model).toEqual(['m-0', 'm-1', 'm-2', 'm-3', 'm-4']);
    expect(Buffer.byteLength(seenIn({ model: 'ü'.repeat(5_000) })?.model?.[0] ?? '')).toBeLessThanOrEqual(200);
  });
});

async function sideOf(version: 'baseline' | 'new', agent_fields: Record<string, unknown>): Promise<Side> {
  const folder = await suiteFolder(temporaryFolder(), {
    version,
    cases: [{ id: 'refund', expected: { contains: 'x' }, artifact: { agent_fields } }],
  });
  const runCheck = () => Promise.reject(new Error('no case here has a script'));
  const evaluation = await evaluateSuite(folder, { runCheck });
  expect(check(contract, evaluation, { strict: true, internal: false }).violations).toEqual([]);
  return { source: 'runs', trials: [trialFrom(folder, evaluation)] };
}

describe('a different agent', () => {
  const driftIn = (baseline: Side, candidate: Side) =>
    compared(baseline, candidate).comparability.fields.filter(({ field }) => field.startsWith('provenance.'));

  test('counts as drift in the provenance fields of its answers', async () => {
    const before = await sideOf('baseline', { provenance: { model: 'm-1', parameters: { t: 0 }, image: 'same' } });
    const now = await sideOf('new', { provenance: { model: 'm-2', parameters: { t: 1 }, image: 'same' } });
    const drift = [
      { field: 'provenance.model', baseline: 'm-1', new: 'm-2' },
      { field: 'provenance.parameters', baseline: '{"t":0}', new: '{"t":1}' },
    ];
    expect(driftIn(before, now)).toEqual(drift);
    expect(driftIn(sideFromAccepted(acceptedFrom(before, '2026-01-06T12:30:00.000Z')), now)).toEqual(drift);
  });

  test('is not assumed if one side does not report it', async () => {
    expect(driftIn(await sideOf('baseline', { note: 1 }), await sideOf('new', { model: 'm-2' }))).toEqual([]);
  });

  test('is detected in every trial of an accepted baseline, not only the first', () => {
    const one = (model: string) =>
      trial(`baseline_${model}`, [judgedCase('a')], { conditions: { 'provenance.model': model } });
    const { conditions } = acceptedFrom(
      { source: 'runs', trials: [one('m-1'), one('m-2')] },
      '2026-01-06T12:30:00.000Z',
    );
    expect(conditions).toEqual({ 'provenance.model': 'm-1, m-2' });
  });
});
