import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { agentRunExample, type CaseArtifact, caseFailureExample } from '../../../src/contracts/artifacts/index.ts';
import { type Evaluation, evaluation as contract, type JudgedCase } from '../../../src/contracts/evaluation/index.ts';
import type { SuiteCase } from '../../../src/contracts/suite/index.ts';
import { Answer } from '../../../src/judge/suite/answer.ts';
import { Effort } from '../../../src/judge/suite/effort.ts';
import { judgeAnswer } from '../../../src/judge/suite/expectations.ts';
import { judgeCase } from '../../../src/judge/suite/judge-case.ts';
import { matchesPath } from '../../../src/judge/suite/path-pattern.ts';
import { judged as documentJudged } from '../../support/support.ts';
import { agentRun, answered, changing } from './answers.ts';

const DENIED = { class: 'native_policy_block', operation: 'Write', hard: false } as const;

function judgedCase(artifact: CaseArtifact, expected: SuiteCase['expected'] = {}): JudgedCase {
  const asked: SuiteCase = { schema_version: 'suite-case.v1', id: artifact.case_id, input: { user: '' }, expected };
  const runCheck = () => Promise.reject(new Error('nothing is run here'));
  const judging = { folder: '', runCheck, effort: new Effort(), judgeApart: undefined };
  return judgeCase(asked, artifact, judging) as JudgedCase;
}

/** The artifact of an agent that did not complete. */
function failed(over: Partial<NonNullable<CaseArtifact['agent_run']>>, errorClass = 'other'): CaseArtifact {
  const runner_failure = { ...caseFailureExample.runner_failure, class: errorClass };
  return { ...caseFailureExample, runner_failure, ...agentRun(over) } as CaseArtifact;
}

describe('an agent run without expectations', () => {
  test('passes without violations, but lists no passed expectation', () => {
    const { verdict, assertions } = judgedCase(answered('Done.', agentRun()));
    expect({ verdict, assertions }).toEqual({ verdict: 'pass', assertions: [] });
  });

  test('fails if a tool call was denied', () => {
    const { verdict, assertions } = judgedCase(
      answered('Done.', agentRun({ violations: { total: 1, listed: [DENIED] } })),
    );
    expect(verdict).toBe('fail');
    expect(assertions).toEqual([
      { name: 'no_violations', status: 'fail', message: 'violation: native_policy_block Write.', at: null },
    ]);
  });

  test('fails if the policy stopped it, whatever the answer', () => {
    const run = { termination: 'killed_policy', reason: 'forbidden_path' } as const;
    const { verdict, error_class, assertions } = judgedCase(failed(run), { contains: 'x', no_violations: false });
    expect([verdict, error_class, assertions.map(({ name }) => name)]).toEqual(['fail', null, ['termination']]);
  });

  test.each([
    ['the model', { termination: 'error', reason: 'auth_missing' }, 'other'],
    ['the machine', { termination: 'error', reason: 'spawn_failed' }, 'other'],
    ['time', { termination: 'killed_timeout', reason: 'wall_clock' }, 'timeout'],
    ['the model API', { termination: 'error', reason: 'api_error' }, 'http_error'],
    ['a malformed answer', { termination: 'completed', reason: 'ok' }, 'schema_mismatch'],
  ] as const)('is an error if the reason is %s', (_, run, errorClass) => {
    const { verdict, error_class, assertions } = judgedCase(failed(run, errorClass));
    expect([verdict, error_class, assertions]).toEqual(['error', errorClass, []]);
  });
});

describe('missing evidence does not count as a pass', () => {
  const broken = (artifact: CaseArtifact, expected: SuiteCase['expected']) =>
    judgeAnswer(expected ?? {}, new Answer(artifact)).isBroken;

  test('an artifact without a run, or a run without changes, makes the case an error', () => {
    expect(broken(answered(''), { no_violations: true })).toBe(true);
    expect(broken(answered('', agentRun({ changes: null })), { changed_only: ['a'] })).toBe(true);
    const changes = { ...(agentRunExample.changes as NonNullable<typeof agentRunExample.changes>), added: null };
    expect(broken(answered('', agentRun({ changes })), { max_diff_lines: 9 })).toBe(true);
  });

  test('unlisted files and violations fail the case', () => {
    const { changes } = changing(...Array.from({ length: 1_000 }, (_, index) => `docs/${index}`)).agent_run ?? {};
    const files = { total: 1_001, listed: changes?.files.listed ?? [] };
    const artifact = answered('', agentRun({ changes: changes ? { ...changes, files } : null }));
    for (const expected of [{ changed_only: ['docs'] }, { not_changed: ['src'] }]) {
      expect(judgedCase(artifact, expected).assertions).toMatchObject([
        { status: 'fail', message: 'The agent changed 1001 files, but only the first 1000 are listed.' },
      ]);
    }
    const listed = Array.from({ length: 100 }, () => DENIED);
    const many = answered('', agentRun({ violations: { total: 103, listed } }));
    expect(judgedCase(many, { allow_violations: 'native_policy_block' }).assertions).toMatchObject([
      { status: 'fail', message: 'There are 3 more violations than are listed.' },
    ]);
  });
});

test('no name that an agent chooses breaks the evaluation', async () => {
  const names = fc.oneof(
    fc.string({ minLength: 1, maxLength: 120, unit: 'binary' }),
    fc.constantFrom('sk-live-0123456789abcdefABCDEF', 'AKIAIOSFODNN7EXAMPLE', '/home/someone/x', 'a\u202eb'),
  );
  await fc.assert(
    fc.asyncProperty(names, names, async (operation, path) => {
      const violations = { total: 1, listed: [{ class: 'forbidden_operation', operation, hard: false }] } as const;
      const run = agentRun({ violations: { ...violations, listed: [...violations.listed] }, changes: changesOf(path) });
      const artifact = { ...answered('x'), ...run };
      const one = judgedCase(artifact, { changed_only: ['no-such'], not_changed: ['**'] });
      const summary = { total: 1, passed: 0, failed: 1, errors: 0, unjudged: 0 };
      const { gate: _gate, repairs: _repairs, ...example } = contract.example as Evaluation;
      const { outcome, violations: found } = await documentJudged(contract, {
        ...example,
        summary,
        cases: [one],
      });
      expect({ outcome, found }).toEqual({ outcome: 'valid', found: [] });
    }),
    { seed: 7, numRuns: 300 },
  );
});

function changesOf(path: string) {
  return changing(path.toWellFormed()).agent_run?.changes ?? null;
}

describe('a path pattern', () => {
  const matches = (pattern: string, path: string): boolean => matchesPath(pattern, path, new Effort());

  test.each([
    ['src', 'src', true],
    ['src', 'src/a/b.ts', true],
    ['src/', 'src/a.ts', true],
    ['src', 'src2/a.ts', false],
    ['src', 'lib/src/a.ts', false],
    ['.', 'anything/at/all', true],
    ['*.md', 'README.md', true],
    ['*.md', 'docs/README.md', false],
    ['**/*.md', 'README.md', true],
    ['**/*.md', 'docs/a/README.md', true],
    ['docs/*', 'docs', false],
    ['docs/*', 'docs/a.md', true],
    ['docs/**', 'docs/a/b.md', true],
    ['docs/**/x', 'docs/x', true],
    ['docs/**/x', 'docs/a/b/x/y', true],
    ['a*b*c', 'aXbYbZc', true],
    ['a*b*c', 'aXbYbZ', false],
    ['*', 'a/b', true],
    ['a.c', 'abc', false],
    ['src/a', 'src', false],
  ])('%s matches %s: %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected);
  });

  test('agrees with an equivalent regular expression', () => {
    const part = fc.constantFrom('a', 'b', 'ab', '*', 'a*', '*b', '**');
    const name = fc.stringMatching(/^[ab]{1,4}$/);
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 4 }),
        fc.array(name, { minLength: 1, maxLength: 5 }),
        (parts, names) => {
          const source = parts.map(one => (one === '**' ? '(?:[^/]+/)*' : `${one.replaceAll('*', '[^/]*')}/`)).join('');
          expect(matches(parts.join('/'), names.join('/'))).toBe(new RegExp(`^${source}`).test(`${names.join('/')}/`));
        },
      ),
      { seed: 11, numRuns: 2_000 },
    );
  });

  test('takes a bounded number of steps', () => {
    const effort = new Effort({ each: 1_000 });
    expect(() => matchesPath('a*'.repeat(200), 'a'.repeat(4_000), effort)).toThrow('too many steps');
  });
});
