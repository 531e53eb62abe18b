import { describe, expect, test } from 'vitest';
import { check } from '../../../src/contracts/check.ts';
import { comparison as contract } from '../../../src/contracts/comparison/index.ts';
import type { Expected, SuiteCase } from '../../../src/contracts/suite/index.ts';
import type { CaseReader, JudgedCase } from '../../../src/judge/compare-input.ts';
import { gateOf } from '../../../src/judge/compare/gate.ts';
import { compared, failedCase, hashOf, judgedCase, side } from './sides.ts';

const held = [{ name: 'contains', status: 'pass', message: null, at: null }] as const;

const suite = (over: Record<string, Partial<JudgedCase>> = {}): JudgedCase[] =>
  Array.from({ length: 20 }, (_, index) => `case-${index}`).map(id =>
    judgedCase(id, { assertions: [...held], ...over[id] }),
  );

const edited = { case_sha256: hashOf('edited') };

/** Reads the same cases on both sides, except for the given fields. */
const reader =
  (was: Partial<SuiteCase>, is: Partial<SuiteCase>): CaseReader =>
  ({ runId }, id) => ({
    schema_version: 'suite-case.v1',
    id,
    input: { user: 'Hello' },
    ...(runId.startsWith('baseline') ? was : is),
  });

const expecting = (was: Expected, is: Expected): CaseReader => reader({ expected: was }, { expected: is });

describe('a case that requires less than in the baseline', () => {
  const lost = { caseOf: expecting({ contains: ['EUR', '19.99'] }, { contains: ['EUR'] }) };

  test('fails the gate, is named in the first line, and shows what it no longer requires', () => {
    const document = compared(side('baseline', suite()), side('new', suite({ 'case-7': edited })), gateOf({}), lost);
    expect(document).toMatchObject({ verdict: 'not_enough_evidence', exit_code: 3 });
    expect(document.decision).toMatchObject({ cause: 'weakened', weakened: ['case-7'] });
    expect(document.reason).toBe(
      'A case asks less than in the baseline: “case-7” (lost contains). --allow-weakened accepts this.',
    );
    expect(document.cases[7]?.changed).toEqual({
      differences: [{ what: 'lost', at: 'expected.contains', baseline: '19.99', new: null }],
    });
    expect(check(contract, document, { strict: true, internal: false }).violations).toEqual([]);
  });

  test('passes if the gate allows it, and the evidence records that it was allowed', () => {
    const gate = gateOf({ allow_weakened: true });
    const document = compared(side('baseline', suite()), side('new', suite({ 'case-7': edited })), gate, lost);
    expect(document).toMatchObject({ verdict: 'no_regression', exit_code: 0, gate: { allow_weakened: true } });
    expect(document.decision?.weakened).toEqual([]);
    expect(document.cases[7]?.changed?.differences).toHaveLength(1);
  });

  test('does not hide a regression', () => {
    const now = suite({ 'case-7': edited });
    const worse = now.map((one, index) => (index < 5 ? failedCase(one.case_id) : one));
    const { verdict, exit_code } = compared(
      side('baseline', suite(), suite(), suite()),
      side('new', worse, worse, worse),
      gateOf({}),
      lost,
    );
    expect({ verdict, exit_code }).toEqual({ verdict: 'regression', exit_code: 1 });
  });

  test('is named next to a removed case', () => {
    const now = suite({ 'case-7': edited }).slice(1);
    const { reason, decision } = compared(side('baseline', suite()), side('new', now), gateOf({}), lost);
    expect(decision).toMatchObject({ cause: 'removed', removed: ['case-0'], weakened: ['case-7'] });
    expect(reason).toContain('case-0');
    expect(reason).toContain('“case-7” (lost contains)');
  });

  test('is assumed if a case changed and the baseline does not store it', () => {
    const document = compared(side('baseline', suite()), side('new', suite({ 'case-7': edited })));
    expect(document).toMatchObject({ exit_code: 3, decision: { cause: 'weakened', weakened: ['case-7'] } });
    expect(document.cases[7]?.changed).toEqual({ differences: null });
    expect(document.reason).toBe(
      'A case changed, and the baseline does not keep what was asked: “case-7”. --allow-weakened accepts this.',
    );
    expect(check(contract, document, { strict: true, internal: false }).violations).toEqual([]);
  });

  test('cannot be hidden from the verifier', () => {
    const document = compared(side('baseline', suite()), side('new', suite({ 'case-7': edited })), gateOf({}), lost);
    const forged = {
      ...document,
      verdict: 'no_regression',
      exit_code: 0,
      decision: { ...document.decision, cause: 'not_worse', weakened: [] },
    };
    const { violations } = check(contract, forged, { strict: true, internal: false });
    expect(new Set(violations.map(({ rule_id }) => rule_id))).toEqual(new Set(['CM11']));
  });
});

test('a case with another input and the same expectations is drift, is shown, and does not fail the gate', () => {
  const caseOf = reader({ input: { user: 'Hello' } }, { input: { user: 'Good day' } });
  const document = compared(side('baseline', suite()), side('new', suite({ 'case-7': edited })), gateOf({}), {
    caseOf,
  });
  expect(document).toMatchObject({ verdict: 'no_regression', exit_code: 0 });
  expect(document.cases[7]?.changed?.differences).toEqual([
    { what: 'input', at: 'input.user', baseline: 'Hello', new: 'Good day' },
  ]);
  expect(document.cases.filter(({ changed }) => changed)).toHaveLength(1);
});
