import { expect, test } from 'vitest';
import { caseArtifact } from '../../../src/contracts/artifacts/index.ts';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import type { Expected } from '../../../src/contracts/suite/index.ts';
import { earlyVerdict } from '../../../src/judge/suite/early-verdict.ts';

const answered = (content: string): CaseArtifact => {
  const { runner_failure: _, ...artifact } = structuredClone(caseArtifact.example) as CaseArtifact;
  return { ...artifact, final_output: { content_type: 'text', content } };
};

const silent: CaseArtifact = {
  ...answered(''),
  runner_failure: { class: 'timeout', attempt: 1, error_message: 'The agent did not answer.' } as never,
};

test.each<[what: string, expected: Expected | undefined, artifact: CaseArtifact, verdict: 'pass' | 'fail' | null]>([
  ['a met expectation', { contains: 'nine' }, answered('At nine.'), 'pass'],
  ['an unmet expectation', { contains: 'nine' }, answered('At ten.'), 'fail'],
  ['no expectation', undefined, answered('At nine.'), null],
  ['an expectation without a measurement', { max_ttft_ms: 5 }, answered('At nine.'), null],
  ['no answer', { contains: 'nine' }, silent, null],
  ['a check script', { script: { file: 'assets/check.py' } }, answered('At nine.'), null],
  ['a pattern that takes long', { regex: '(a{1,200}){1,200}b' }, answered('a'.repeat(5_000)), null],
])('the early verdict on %s', (_, expected, artifact, verdict) => {
  const asked = { id: 'one', input: { user: 'When?' }, ...(expected && { expected }) };
  expect(earlyVerdict(asked as never, artifact)).toBe(verdict);
});
