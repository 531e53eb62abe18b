import {
  agentRunExample,
  type AgentRunNote,
  caseArtifact,
  type CheckInCase,
} from '../../../src/contracts/artifacts/index.ts';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import { check } from '../../../src/contracts/check.ts';
import type { Expected } from '../../../src/contracts/suite/index.ts';
import { suiteCase } from '../../../src/contracts/suite/index.ts';
import { Answer } from '../../../src/judge/suite/answer.ts';
import { judgeAnswer } from '../../../src/judge/suite/expectations.ts';

type Content = string | Record<string, unknown>;

/** A valid artifact of an answered case. */
export function answered(content: Content, over: Partial<CaseArtifact> = {}): CaseArtifact {
  const artifact: CaseArtifact = {
    schema_version: 'case.v1',
    case_id: 'one',
    version: 'new',
    status: 'ok',
    attempts: [{ attempt: 1, started_at: '2026-01-06T12:00:00.000Z', latency_ms: 120, outcome: 'ok' }],
    proposed_actions: [],
    events: [],
    final_output: { content_type: typeof content === 'string' ? 'text' : 'json', content },
    ...over,
  };
  const { violations } = check(caseArtifact, artifact, { strict: false, internal: false });
  if (violations.length > 0) throw new Error(violations[0]?.message);
  return artifact;
}

/** The results of expectations as `status message @location`, and `broken` for an invalid one. */
export function found(expected: Expected, content: Content, over: Partial<CaseArtifact> = {}): string[] {
  const asked = { ...(suiteCase.example as object), expected };
  const { violations } = check(suiteCase, asked, { strict: true, internal: false });
  if (violations.length > 0) throw new Error(violations[0]?.message);
  const { assertions, isBroken } = judgeAnswer(expected, new Answer(answered(content, over)));
  const lines = assertions.map(({ name, status, message, at }) => {
    if (!Object.hasOwn(expected, name)) throw new Error(`${name} was not expected`);
    return [status, ...(message === null ? [] : [message]), ...(at === null ? [] : [`@${at}`])].join(' ');
  });
  return isBroken ? [...lines, 'broken'] : lines;
}

export const calls = (...tools: string[]): Partial<CaseArtifact> => ({
  events: tools.map((tool, index) => ({ type: 'tool_call', ts: index, call_id: `c${index}`, tool, args: {} })),
});

/** An agent program's run without violations or changes, with overrides. */
export function agentRun(over: Partial<AgentRunNote> = {}): Pick<CaseArtifact, 'agent_run'> {
  const changes = { ...agentRunExample.changes, files: { total: 0, listed: [] }, added: 0, removed: 0 };
  const plain = { violations: { total: 0, listed: [] }, flags: [], changes: changes as AgentRunNote['changes'] };
  return { agent_run: { ...agentRunExample, ...plain, ...over } };
}

/** A run that changed these files, two lines each. */
export function changing(...paths: string[]): Pick<CaseArtifact, 'agent_run'> {
  const listed = paths.map(path => ({ path, change: 'update' as const, added: 1, removed: 1 }));
  const { length } = paths;
  const counts = { added: length, removed: length, commits: 0, diff_sha256: agentRunExample.seal_sha256 };
  return agentRun({ changes: { files: { total: length, listed }, ...counts } });
}

/** A run with these checks. */
export function checking(...checks: CheckInCase[]): Pick<CaseArtifact, 'agent_run'> {
  return agentRun({ checks });
}

/** A check that passes, with overrides. */
export function checkNote(over: Partial<CheckInCase> = {}): CheckInCase {
  return {
    name: 'unit',
    verdict: 'passed',
    reason: 'ok',
    message: 'The check exited with code 0.',
    report: false,
    tests: null,
    restored: 0,
    overlay_sha256: null,
    second_look: null,
    ...over,
  };
}

/** A check whose report has these tests. */
export function testedNote(name: string, passed: number, ...failures: string[]): CheckInCase {
  const failed = failures.length;
  const tests = { total: passed + failed, passed, failed, skipped: 0, failures: failures.slice(0, 10) };
  const isPassed = failed === 0;
  const told = isPassed ? {} : ({ verdict: 'failed', reason: 'tests_failed', message: 'Tests fail.' } as const);
  return checkNote({ name, report: true, tests, ...told });
}
