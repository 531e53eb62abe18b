import { describe, expect, test } from 'vitest';
import type { CaseArtifact, CheckInCase } from '../../../src/contracts/artifacts/index.ts';
import { type Evaluation, evaluation as contract, type JudgedCase } from '../../../src/contracts/evaluation/index.ts';
import type { SuiteCase } from '../../../src/contracts/suite/index.ts';
import { Effort } from '../../../src/judge/suite/effort.ts';
import { judgeCase } from '../../../src/judge/suite/judge-case.ts';
import { judged as documentJudged } from '../../support/support.ts';
import { agentRun, answered, checking, checkNote, found, testedNote } from './answers.ts';

function judgedCase(artifact: CaseArtifact, over: Partial<SuiteCase> = {}): JudgedCase {
  const asked: SuiteCase = { schema_version: 'suite-case.v1', id: artifact.case_id, input: { user: '' }, ...over };
  const runCheck = () => Promise.reject(new Error('nothing is run here'));
  return judgeCase(asked, artifact, {
    folder: '',
    runCheck,
    effort: new Effort(),
    judgeApart: undefined,
  }) as JudgedCase;
}

const run = (...checks: CheckInCase[]): CaseArtifact => answered('Done.', checking(...checks));

describe('a case with checks', () => {
  test('passes without an expectation if every check passes, and counts as judged', () => {
    const { verdict, assertions } = judgedCase(run(checkNote(), testedNote('hidden', 3)));
    expect(verdict).toBe('pass');
    expect(assertions.map(({ name, status }) => `${name} ${status}`)).toEqual(['check pass', 'check pass']);
  });

  test('fails without an expectation if one check fails', () => {
    const { verdict } = judgedCase(
      run(checkNote(), checkNote({ name: 'lint', verdict: 'failed', reason: 'exit_code' })),
    );
    expect(verdict).toBe('fail');
  });

  test('is an error if the run does not record its check', () => {
    const { verdict, assertions } = judgedCase(answered('Done.', agentRun()), { checks: [{ command: 'npm test' }] });
    expect([verdict, assertions[0]?.status]).toEqual(['error', 'not_judged']);
  });

  test('ignores the other checks if an expectation names one', () => {
    const failing = checkNote({ name: 'lint', verdict: 'failed', reason: 'exit_code' });
    expect(judgedCase(run(checkNote(), failing), { expected: { check: 'unit' } }).verdict).toBe('pass');
  });
});

describe('a check without a verdict', () => {
  const silent = (reason: string, over: Partial<CheckInCase> = {}): CheckInCase =>
    checkNote({ verdict: 'did_not_run', reason, message: 'It has no result.', ...over });

  test.each(['cancelled', 'agent_not_dead', 'tree_lost', 'sandbox_unavailable', 'no_space', 'spawn_failed'])(
    'makes its case an error, not a failure, if the reason is %s',
    reason => {
      expect(judgedCase(run(silent(reason))).verdict).toBe('error');
      expect(
        judgedCase(run(silent(reason, { report: true })), { expected: { tests: { failed_max: 0 } } }).verdict,
      ).toBe('error');
    },
  );

  test.each(['no_report', 'no_tests', 'command_not_found', 'tree_too_large'])(
    'fails its case if the tree caused it: %s',
    reason => {
      expect(judgedCase(run(silent(reason, { report: true }))).verdict).toBe('fail');
    },
  );

  test('fails its case if the second look leaves an unreadable report; an interrupted second look is an error', () => {
    const second = (reason: string): CheckInCase =>
      silent('second_look_differs', { verdict: 'unknown', second_look: { verdict: 'unknown', reason } });
    expect(judgedCase(run(second('unreadable_report'))).verdict).toBe('fail');
    expect(judgedCase(run(second('interrupted'))).verdict).toBe('error');
  });

  test('does not satisfy a limit on failed tests by leaving no report', () => {
    const crashed = checkNote({ name: 'hidden', verdict: 'failed', reason: 'exit_code', report: true });
    expect(found({ tests: { failed_max: 0 } }, '', checking(testedNote('unit', 9), crashed))).toEqual([
      'fail The check hidden left no readable test report: The check exited with code 0.',
    ]);
  });
});

test('a message with hostile test names is short, and contains no secret, control character or host path', async () => {
  const hostile = [
    '\u001b[31mred\u0007\u202e',
    `token ghp_${'a'.repeat(36)}`,
    '/home/someone/secret.test.js > fails',
    'x'.repeat(5_000),
  ];
  const judged = judgedCase(run({ ...testedNote('hidden', 0, ...hostile) }));
  const [{ message }] = judged.assertions as [JudgedCase['assertions'][number]];
  expect(message).toContain('4 of 4 tests of the check hidden fail: ');
  expect(message).not.toMatch(/\p{Cc}|\u202e|ghp_a|\/home/u);
  expect(Buffer.byteLength(message ?? '')).toBeLessThanOrEqual(300);
  const evaluation = contract.example as Evaluation;
  const summary = { total: 1, passed: 0, failed: 1, errors: 0, unjudged: 0 };
  const document = { ...evaluation, summary, cases: [judged] };
  expect((await documentJudged(contract, document)).violations.filter(({ rule_id }) => rule_id === 'EV6')).toEqual([]);
});
