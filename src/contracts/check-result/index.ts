import { isBefore } from '../agent-step/times.ts';
import { STEP_ASKS } from '../agent-step/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { firstRepeated } from '../lists.ts';
import { type Finding, must, rulesFor, versionRule } from '../rule.ts';
import { CHECK_VERDICTS, type CheckResult, checkResultShape, type CheckTests, RESTORE_REASONS } from './shape.ts';

export type { CheckResult } from './shape.ts';

const rule = rulesFor<CheckResult>();

const rules = [
  versionRule('CK1', 'Check Version Known', 'check-result.v1', 'a check result'),
  rule({
    id: 'CK2',
    title: 'Check Identified',
    why: 'A verdict is meaningful only if the command, its hidden files and its paths are known.',
    asks: [
      'run_id is a name',
      ...STEP_ASKS.name,
      'name is 1 to 40 lower-case letters, digits and dashes, and starts with a letter',
      'command is not blank',
      'overlay is null, or has sha256 and files, from 1 to 10,000',
      'paths is null or a list of 1 to 100 relative paths',
      'report is null, or has path, a relative path, and format: junit, ctrf or null',
    ],
    fields: ['run_id', 'name', 'command', 'overlay', 'paths', 'report'],
    breach: result => ({ ...result, name: 'NODE_ENV' }),
  }),
  rule({
    id: 'CK3',
    title: 'Verdict Grounded',
    why: 'A check that did not run must never count as passed, and a fault must never count as failed.',
    asks: [
      `verdict is one of ${CHECK_VERDICTS.join(', ')}`,
      'reason is a lower-case word, and message is not blank',
      'a passed check exited with 0; passed and failed require an ending other than lost',
      'a passed check with a report has at least one passed test and no failed test',
      'a passed check with a second look passed there too',
      'decided_by is report if tests is present, exit_code if only the ending is known, else null',
    ],
    fields: ['verdict', 'reason', 'message', 'decided_by'],
    reads: ['ending', 'exit_code', 'report', 'tests', 'second_look'],
    check: groundsOf,
    breach: result => ({ ...result, verdict: 'passed', reason: 'ok', message: 'The check passes.' }),
  }),
  rule({
    id: 'CK4',
    title: 'Ending Stated',
    why: 'A reader must see whether the check ended by itself, and how long it took.',
    asks: [
      'started_at and ended_at are null or instants, and ended_at is not before started_at',
      'ended_at, duration_ms and ending are all null or all present; they require started_at',
      'duration_ms is a non-negative integer, and exit_code is null or from 0 to 255',
      'exit_code is the code in ending, if ending has one',
    ],
    fields: ['started_at', 'ended_at', 'duration_ms', 'ending', 'exit_code'],
    *check({ started_at, ended_at, duration_ms, ending, exit_code }) {
      if (started_at !== null && ended_at !== null && isBefore(ended_at, started_at))
        yield must('ended_at', 'is before started_at');
      if (ended_at !== null && started_at === null) yield must('started_at', 'is missing although the check ended');
      if ((ended_at === null) !== (ending === null)) yield must('ending', 'must be null if and only if ended_at is');
      if ((ended_at === null) !== (duration_ms === null))
        yield must('duration_ms', 'must be null if and only if ended_at is');
      const code = ending !== null && 'code' in ending ? ending.code : null;
      if (exit_code !== code) yield must('exit_code', 'differs from the ending');
    },
    breach: result => ({ ...result, exit_code: 7 }),
  }),
  rule({
    id: 'CK5',
    title: 'Limits Stated',
    why: 'A check without limits or with a network proves less than one with them.',
    asks: [
      'limits has timeout_ms, memory_bytes, pids, output_bytes and work_bytes, non-negative integers',
      'memory_bytes and pids may be null',
      'sandbox has backend (process), isolation_level (strict or standard) and network_blocked, true',
      'streams describes stdout and stderr',
    ],
    fields: ['limits', 'sandbox', 'streams'],
    *check({ sandbox }) {
      if (!sandbox.network_blocked) yield must('sandbox.network_blocked', 'must be true: a check has no network');
    },
    breach: result => ({ ...result, sandbox: { ...result.sandbox, network_blocked: false } }),
  }),
  rule({
    id: 'CK6',
    title: 'Tests Add Up',
    why: 'Counts that do not add up hide a test.',
    asks: [
      'tests is null, or has total, passed, failed, skipped and failures',
      'tests requires a report with a format',
      'passed, failed and skipped add up to total',
      'failures lists at most 100 names, and no more than failed',
      'second_look is null, or has verdict, reason, message, exit_code and tests; it requires paths',
    ],
    fields: ['tests', 'second_look'],
    reads: ['report', 'paths'],
    *check({ tests, second_look, report, paths }) {
      if (tests !== null && (report?.format ?? null) === null) yield must('tests', 'requires a report with a format');
      if (tests !== null) yield* sumOf(tests, 'tests');
      if (second_look !== null && paths === null) yield must('second_look', 'requires paths');
      if (second_look?.tests) yield* sumOf(second_look.tests, 'second_look.tests');
    },
    breach: ({ tests, ...rest }) => ({ ...rest, tests: tests && { ...tests, skipped: tests.skipped + 1 } }),
  }),
  rule({
    id: 'CK7',
    title: 'Restored Files Listed',
    why: 'An agent that edits its own tests must not be able to hide it.',
    asks: [
      'restored has total and listed, at most 1,000 entries and at most total',
      `each entry has path, change (added, changed or deleted) and because: one of ${RESTORE_REASONS.join(', ')}`,
      'a file is listed once for each reason',
      'keep, if present, lists 1 to 100 relative paths, in which *, ? and ** match names',
      'kept, if present, has the form of restored; it requires keep, and never lists a report',
      'mounts, if present, lists 1 to 20 folders with path, sha256 and rehashed; each path occurs once',
    ],
    fields: ['restored', 'keep', 'kept', 'mounts'],
    *check({ restored, keep, kept, mounts = [] }) {
      yield* listedOnce(restored, 'restored');
      if (kept && !keep) yield must('kept', 'requires keep');
      if (kept) yield* listedOnce(kept, 'kept');
      if (kept?.listed.some(({ because }) => because === 'report')) yield must('kept', 'lists a report');
      const repeated = firstRepeated(mounts.map(({ path }) => path));
      if (repeated !== undefined) yield must(`mounts[${repeated}].path`, 'is a duplicate');
    },
    breach: ({ restored, ...rest }) => ({ ...rest, restored: { ...restored, total: 0 } }),
  }),
];

function* listedOnce({ total, listed }: CheckResult['restored'], at: string): Generator<Finding> {
  if (listed.length > total) yield must(`${at}.total`, 'is less than the number of listed files');
  const repeated = firstRepeated(listed.map(({ path, because }) => `${because} ${path}`));
  if (repeated !== undefined) yield must(`${at}.listed[${repeated}].path`, 'is a duplicate');
}

type Grounds = Pick<
  CheckResult,
  'verdict' | 'decided_by' | 'ending' | 'exit_code' | 'report' | 'tests' | 'second_look' | 'reason' | 'message'
>;

function* groundsOf({
  verdict,
  decided_by,
  ending,
  exit_code,
  report,
  tests,
  second_look,
}: Grounds): Generator<Finding> {
  const hasEnded = ending !== null && ending.how !== 'lost';
  const by = tests !== null ? 'report' : hasEnded ? 'exit_code' : null;
  if (decided_by !== by) yield must('decided_by', `must be ${by ?? 'null'}`);
  if ((verdict === 'passed' || verdict === 'failed') && !hasEnded)
    yield must('verdict', 'cannot be passed or failed, because the check did not end');
  if (verdict !== 'passed') return;
  if (hasEnded && (ending.how !== 'exited' || exit_code !== 0))
    yield must('verdict', 'cannot be passed, because the check did not exit with 0');
  else if (report !== null && (tests === null || tests.failed > 0 || tests.passed === 0))
    yield must('verdict', 'cannot be passed, because the report does not show that tests passed');
  else if (second_look !== null && second_look.verdict !== 'passed')
    yield must('verdict', 'cannot be passed, because the second look did not pass');
}

function* sumOf({ total, passed, failed, skipped, failures }: CheckTests, at: string): Generator<Finding> {
  if (passed + failed + skipped !== total) yield must(`${at}.total`, 'is not the sum of passed, failed and skipped');
  if (failures.length > failed) yield must(`${at}.failures`, 'lists more tests than failed');
}

export const checkResult: Contract = {
  name: 'check-result',
  title: 'Result of a check',
  tells: 'What a command reported about the work tree that an agent left, in a new sandbox and without a network.',
  source: 'Proctor, run agent',
  version: { field: 'schema_version', value: 'check-result.v1' },
  shape: checkResultShape,
  rules,
  unknownKeys: 'CK1',
  programText: ['command', 'message', 'tests', 'second_look', 'restored', 'kept'],
  beyond: [
    'whether the command tests what its author meant to test',
    'whether the tested code recognizes that it is being tested',
    'whether the report is complete: the tested code runs in the process that writes it',
  ],
  bytesMax: MIB,
  example: {
    schema_version: 'check-result.v1',
    run_id: 'agent_20260403_101500_4f1c9a7be210',
    name: 'unit',
    command: 'npm test',
    verdict: 'failed',
    reason: 'tests_failed',
    message: '1 of 14 tests fails: parse > handles empty input',
    decided_by: 'report',
    started_at: '2026-04-03T10:21:43.100Z',
    ended_at: '2026-04-03T10:21:45.300Z',
    duration_ms: 2_200,
    ending: { how: 'exited', code: 1 },
    exit_code: 1,
    limits: {
      timeout_ms: 300_000,
      memory_bytes: 2_147_483_648,
      pids: 512,
      output_bytes: 1_048_576,
      work_bytes: 2_147_483_648,
    },
    sandbox: { backend: 'process', isolation_level: 'strict', network_blocked: true },
    streams: [
      {
        name: 'stdout',
        bytes_total: 812,
        sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
        bytes_kept: 812,
        truncated: false,
        masked: 0,
      },
    ],
    report: { path: 'reports/junit.xml', format: 'junit' },
    tests: { total: 14, passed: 12, failed: 1, skipped: 1, failures: ['parse > handles empty input'] },
    overlay: { sha256: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4', files: 2 },
    paths: ['src'],
    restored: { total: 1, listed: [{ path: 'tests/parse.test.js', change: 'changed', because: 'test_file' }] },
    keep: ['Makefile'],
    kept: { total: 1, listed: [{ path: 'Makefile', change: 'changed', because: 'runner_script' }] },
    mounts: [
      {
        path: 'work/node_modules',
        sha256: 'sha256:5f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c45f1d6c0b8a0e4f3f2f',
        rehashed: true,
      },
    ],
    second_look: null,
  } satisfies CheckResult,
};
