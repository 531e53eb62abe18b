import { expect, test } from 'vitest';
import type { SuiteCase } from '../../../src/contracts/suite/index.ts';
import { caseChange } from '../../../src/judge/compare/case-change.ts';

const hidden = { name: 'hidden', command: 'npm test', overlay: 'hidden' };
const lint = { name: 'lint', command: 'npm run lint' };

const changes = (was: Partial<SuiteCase>, is: Partial<SuiteCase>): string[] => {
  const whole = { schema_version: 'suite-case.v1', id: 'a', input: { user: '' } } as const;
  const { differences } = caseChange({ ...whole, ...was }, { ...whole, ...is }) ?? {};
  return (differences ?? []).map(({ what, at }) => `${what} ${at}`);
};

test('a removed or changed check weakens its case', () => {
  expect(changes({ checks: [hidden, lint] }, { checks: [hidden] })).toEqual(['lost checks.lint']);
  expect(changes({ checks: [hidden] }, { checks: [{ ...hidden, command: 'true' }] })).toEqual(['lost checks.hidden']);
  expect(changes({ checks: [hidden] }, { checks: [hidden, lint] })).toEqual(['added checks.lint']);
});

test('naming one check where every check had to pass weakens its case', () => {
  const checks = [hidden, lint];
  expect(changes({ checks }, { checks, expected: { check: 'lint' } })).toEqual(['lost expected.check']);
  expect(changes({ checks, expected: { check: 'lint' } }, { checks })).toEqual(['added expected.check']);
  expect(changes({ checks }, { checks, expected: { check: ['lint', 'hidden'] } })).toEqual([]);
});

test('looser test counts weaken a case', () => {
  const expecting = (tests: object): Partial<SuiteCase> => ({ expected: { tests } });
  expect(changes(expecting({ passed_min: 3 }), expecting({ passed_min: 2 }))).toEqual(['looser expected.tests']);
  expect(changes(expecting({ failed_max: 1 }), expecting({ failed_max: 0 }))).toEqual(['tighter expected.tests']);
});

test('another folder, policy or agent is another input', () => {
  expect(changes({ dir: 'a', policy: 'edit' }, { dir: 'b', agent: 'codex' })).toEqual([
    'input dir',
    'input policy',
    'input agent',
  ]);
});
