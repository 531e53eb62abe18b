import { describe, expect, test } from 'vitest';
import type { AgentRunNote, CheckInCase } from '../../../src/contracts/artifacts/index.ts';
import { otherChecks } from '../../../src/judge/causes/check-difference.ts';
import { agentRun, checkNote, testedNote } from '../suite/answers.ts';

const run = (checks: CheckInCase[], ...flags: string[]): AgentRunNote =>
  agentRun({ checks, flags: flags.map(flag => ({ flag, message: 'A flag.' })) }).agent_run as AgentRunNote;

describe('the difference between the checks of two runs', () => {
  test('names tests that fail only in the candidate', () => {
    const was = run([testedNote('hidden', 2, 'old failure')]);
    const is = run([testedNote('hidden', 1, 'old failure', 'handles empty input')]);
    expect(otherChecks(was, is)).toEqual({
      kind: 'checks',
      says: 'Tests of the check hidden fail in the candidate but not in the baseline: “handles empty input”',
    });
  });

  test('names no test if the baseline does not list all its failures', () => {
    const many = Array.from({ length: 12 }, (_, index) => `t${index}`);
    const is = run([testedNote('hidden', 0, ...many, 'new')]);
    expect(otherChecks(run([testedNote('hidden', 1, ...many)]), is)?.says).toBe(
      '13 tests of the check hidden fail in the candidate, and 12 in the baseline',
    );
  });

  test('names a check that passes only in the baseline, and cheating suspected only in the candidate', () => {
    const failing = checkNote({ verdict: 'failed', reason: 'second_look_differs' });
    expect(otherChecks(run([checkNote()]), run([failing], 'second_look_differs'))?.says).toBe(
      'The check unit passes in the baseline but not in the candidate (second_look_differs). The agent is suspected of cheating (second_look_differs)',
    );
    expect(
      otherChecks(run([checkNote()], 'check_file_changed'), run([failing], 'check_file_changed'))?.says,
    ).not.toContain('cheating');
  });

  test('has at most medium confidence if the hidden files differ', () => {
    const hidden = (digit: string) => ({ overlay_sha256: `sha256:${digit.repeat(64)}` });
    const was = run([checkNote(hidden('1'))]);
    const is = run([checkNote({ ...hidden('2'), verdict: 'failed', reason: 'exit_code' })]);
    expect(otherChecks(was, is)).toMatchObject({ atMost: 'medium', says: expect.stringContaining('hidden files') });
  });

  test('contains no control or bidirectional characters of a test name', () => {
    const is = run([testedNote('hidden', 0, '\u001b[2Jgone\u202e')]);
    expect(otherChecks(run([testedNote('hidden', 1)]), is)?.says).not.toMatch(/\p{Cc}|\u202e/u);
  });
});
