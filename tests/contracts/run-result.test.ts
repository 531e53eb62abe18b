import { describe, expect, test } from 'vitest';
import { check } from '../../src/contracts/check.ts';
import { builtInProfiles, profile } from '../../src/contracts/profile/index.ts';
import { runError } from '../../src/contracts/run-error/index.ts';
import { type RunResult, runResult } from '../../src/contracts/run-result/index.ts';
import { adviceOf, exampleWith, judged, judgedText, rulesOf } from '../support/support.ts';
import { judgedTitles } from './artifacts-words.ts';

type Row = [about: string, changes: Record<string, unknown>, broken: string[], advice?: string[]];

const example = runResult.example as RunResult;
const rejected = { ...example.decision, accepted: false };
const clarify = { kernel_result_kind: 'CLARIFY', execution: null, clarify_questions: ['Which?'], decision: rejected };
const refuse = {
  kernel_result_kind: 'REFUSE',
  bundle: null,
  execution: null,
  refuse_reason: 'No.',
  decision: rejected,
};

const rows: Row[] = [
  ['the values of the example', {}, []],
  ['version 1.4.2, which a reader of 1.0.0 must accept', { run_schema_version: '1.4.2' }, []],
  ['version 2.0.0', { run_schema_version: '2.0.0' }, ['RS1']],
  ['no version', { run_schema_version: undefined }, ['RS1']],
  ['an empty version', { run_schema_version: '' }, ['RS1']],
  ['another kind', { kernel_result_kind: 'bundle' }, ['RS2']],
  ['a question', clarify, []],
  ['a question without text', { ...clarify, clarify_questions: undefined }, ['RS3']],
  ['no questions in the list', { ...clarify, clarify_questions: [] }, ['RS3']],
  ['a question without a bundle', { ...clarify, bundle: null }, ['RS3']],
  ['a question with an execution', { ...clarify, execution: example.execution }, ['RS3']],
  ['a question with a reason to refuse', { ...clarify, refuse_reason: 'x' }, ['RS3']],
  ['a refusal', refuse, []],
  ['a refusal without a reason', { ...refuse, refuse_reason: undefined }, ['RS3']],
  ['a refusal with an empty reason', { ...refuse, refuse_reason: '' }, ['RS3']],
  ['a refusal with a bundle', { ...refuse, bundle: example.bundle }, ['RS3']],
  ['a refusal with questions', { ...refuse, clarify_questions: ['x'] }, ['RS3']],
  ['a bundle with questions', { clarify_questions: ['x'] }, ['RS3']],
  ['a bundle with a reason', { refuse_reason: 'x' }, ['RS3']],
  ['no bundle key', { bundle: undefined }, ['RS3']],
  ['no execution key', { execution: undefined }, ['RS3']],
  ['a plan but no execution', { execution: null }, []],
  ['a bundle hash in upper case', { 'bundle.sha256': `sha256:${'A'.repeat(64)}` }, ['RS4']],
  ['a bundle hash without a prefix', { 'bundle.sha256': 'a'.repeat(64) }, ['RS4']],
  ['a bundle without an id', { 'bundle.bundle_id': '' }, ['RS4']],
  ['a truncated intent hash', { 'intent.sha256': 'sha256:abc' }, ['RS4']],
  ['a malformed output hash', { 'execution.outputs': [{ path: 'x', sha256: 'x', size_bytes: 2_048 }] }, ['RS4']],
  ['a changed built-in policy', { 'policy.timeout_ms': 59_999 }, ['RS5']],
  ['a built-in policy in another order', { 'policy.allowed_commands': ['npm', 'node', 'npx'] }, ['RS5']],
  ['no policy', { policy: undefined }, ['RS5']],
  ['an empty policy', { policy: {} }, ['RS5', 'RS5', 'RS5', 'RS5', 'RS5', 'RS5', 'RS5']],
  ['a policy with a limit out of range', { 'policy.timeout_ms': 0 }, ['RS5']],
  ['a custom policy but no policy.json', { 'policy.name': 'mine' }, [], ['RS5']],
  ['an absolute intent path', { 'intent.path': '/home/x/i.json' }, ['RS6']],
  ['an intent on a drive', { 'intent.path': 'C:\\i.json' }, ['RS6']],
  ['an intent on a network share', { 'intent.path': '\\\\srv\\i.json' }, ['RS6']],
  ['an intent in a home folder', { 'intent.path': '~/i.json' }, ['RS6']],
  ['an intent path with ..', { 'intent.path': '../in/i.json' }, [], ['RS6']],
  ['a sandbox path', { sandbox_path: '/tmp/x' }, ['RS6']],
  ['a model path', { model_mode: 'none', model_io_path: 'x' }, ['PL5', 'RS6']],
  ['a command with an absolute path', { 'execution.cmd': ['node', '/data/customers/x.csv'] }, [], ['RS6']],
  ['a command with a URL', { 'execution.cmd': ['node', 'https://example.org/data/x.csv', 'a/b'] }, []],
  ['a reason that reveals a host path', { 'decision.reasons': ['wrote /home/x/y'] }, ['RS6']],
  ['a refusal that reveals a host path', { ...refuse, refuse_reason: 'ENOENT /var/lib/x' }, ['RS6']],
  [
    'an output path with ..',
    { 'execution.outputs': [{ path: '../../etc/passwd', sha256: example.intent.sha256, size_bytes: 2_048 }] },
    ['RS6'],
  ],
  ['a leak and a malformed hash', { 'intent.sha256': 'x', 'intent.path': '/home/a/x' }, ['RS4', 'RS6']],
  [
    'a wrong decision and a malformed hash',
    { 'execution.stdout_sha256': 'x', 'execution.exit_code': 3 },
    ['RS4', 'RS8'],
  ],
  [
    'a refusal with a bundle whose hash is malformed',
    { ...refuse, bundle: { bundle_id: 'b', sha256: 'x' } },
    ['RS3', 'RS4'],
  ],
  ['no run id', { run_id: undefined }, ['RS7']],
  ['a start that is not an instant', { started_at: 'noon' }, ['RS7']],
  ['an end before the start', { completed_at: '2026-01-06T11:00:00.000Z' }, [], ['RS7']],
  ['no kernel version', { kernel_version: '' }, ['RS7']],
  [
    'outputs out of order',
    { 'execution.outputs': ['b', 'a'].map(path => ({ path, sha256: example.intent.sha256, size_bytes: 1_024 })) },
    ['RS7'],
  ],
  ['a wrong sum', { 'execution.total_output_bytes': 1 }, [], ['RS7']],
  ['a sum of truncated output', { 'execution.total_output_bytes': 9_999, 'execution.output_truncated': true }, []],
  ['acceptance despite exit code 1', { 'execution.exit_code': 1 }, ['RS8']],
  ['rejection despite exit code 0', { 'decision.accepted': false }, ['RS8']],
  ['rejection with exit code 99', { 'execution.exit_code': 99, 'decision.accepted': false }, []],
  ['an accepted question', { ...clarify, decision: example.decision }, ['RS8']],
  ['an accepted refusal', { ...refuse, decision: example.decision }, ['RS8']],
  ['a decision that the kernel did not validate', { 'decision.validated_by_kernel': false }, ['RS8']],
  ['no decision', { decision: undefined }, ['RS8']],
  ['recording under the profile default', { model_mode: 'record' }, ['PL4']],
  ['recording under the profile dev', { policy: builtInProfiles.dev, model_mode: 'record' }, []],
  ['an unknown mode', { model_mode: 'live' }, ['PL4']],
  [
    'more outputs than allowed',
    {
      policy: builtInProfiles.strict,
      'execution.outputs': Array.from({ length: 201 }, (_, index) => ({
        path: `out/${String(index).padStart(3, '0')}`,
        sha256: example.intent.sha256,
        size_bytes: 0,
      })),
      'execution.total_output_bytes': 0,
    },
    ['PL6'],
  ],
  [
    'more bytes than allowed',
    { policy: builtInProfiles.strict, 'execution.total_output_bytes': 10_485_761, 'execution.output_truncated': true },
    ['PL6'],
  ],
  ['an unknown key', { mode: 'plan-only' }, [], ['RS7']],
];

describe('a run result', () => {
  test.each(judgedTitles(rows))('with %s', async (_, changes, broken, advice = []) => {
    const verdict = await judged(runResult, exampleWith(runResult, changes));
    expect({ broken: rulesOf(verdict), advice: adviceOf(verdict) }).toEqual({ broken, advice });
  });

  test('with internal fields is valid as an internal document', async () => {
    const internal = exampleWith(runResult, {
      policy: builtInProfiles.dev,
      model_mode: 'record',
      sandbox_path: '/tmp/x',
      model_io_path: '/tmp/y',
    });
    expect(rulesOf(await judged(runResult, internal, { internal: true }))).toEqual([]);
    expect(rulesOf(await judged(runResult, internal))).toEqual(['RS6', 'RS6']);
    const lost = exampleWith(runResult, { policy: builtInProfiles.dev, model_mode: 'record' });
    expect(rulesOf(await judged(runResult, lost, { internal: true }))).toEqual(['PL5']);
  });

  test('with a replayed recording must not name its path', async () => {
    const replay = { policy: builtInProfiles.dev, model_mode: 'replay' };
    expect(rulesOf(await judged(runResult, exampleWith(runResult, replay), { internal: true }))).toEqual([]);
    const named = exampleWith(runResult, { ...replay, model_io_path: '/tmp/y' });
    expect(adviceOf(await judged(runResult, named, { internal: true }))).toEqual(['PL5']);
    expect(rulesOf(await judged(runResult, named, { internal: true, strict: true }))).toEqual(['PL5']);
  });

  test('with non-canonical bytes gets advice, and a violation in strict mode', async () => {
    const pretty = JSON.stringify(example, null, 2);
    expect(adviceOf(await judgedText(runResult, pretty))).toEqual(['RS7']);
    expect(rulesOf(await judgedText(runResult, pretty, { strict: true }))).toEqual(['RS7']);
  });

  test('with a custom policy is compared with the policy.json next to it', () => {
    const mine = { ...builtInProfiles.default, name: 'mine' };
    const result = exampleWith(runResult, { policy: mine });
    const context = { strict: false, internal: false };
    expect(check(runResult, result, { ...context, profileBeside: mine })).toMatchObject({ violations: [], advice: [] });
    expect(
      check(runResult, result, { ...context, profileBeside: { ...mine, timeout_ms: 1_000 } }).violations,
    ).toMatchObject([{ rule_id: 'RS5' }]);
    expect(check(runResult, result, { ...context, profileBeside: 'junk' }).violations).toMatchObject([
      { rule_id: 'RS5' },
    ]);
    // A built-in name always means the built-in profile.
    const strict = exampleWith(runResult, { policy: { ...builtInProfiles.strict, timeout_ms: 31_000 } });
    expect(
      check(runResult, strict, { ...context, profileBeside: { ...builtInProfiles.strict, timeout_ms: 31_000 } })
        .violations,
    ).toMatchObject([{ rule_id: 'RS5' }]);
  });
});

describe('a profile', () => {
  const rows: Row[] = [
    ['a custom name', {}, []],
    ['an empty name', { name: '' }, ['PL1']],
    ['a name in capitals', { name: 'Strict' }, ['PL1']],
    ['no name', { name: undefined }, ['PL1']],
    ['a missing key', { allowed_write_roots: undefined }, ['PL2']],
    ['a key of the wrong type', { allow_network: 'no' }, ['PL2']],
    ['the lowest limits', { timeout_ms: 1_000, max_output_files: 1, max_total_output_bytes: 1_024 }, []],
    [
      'the highest limits',
      { timeout_ms: 600_000, max_output_files: 10_000, max_total_output_bytes: 1_073_741_824 },
      [],
    ],
    ['a timeout that is too short', { timeout_ms: 999 }, ['PL3']],
    ['a timeout that is too long', { timeout_ms: 600_001 }, ['PL3']],
    ['a limit of no files', { max_output_files: 0 }, ['PL3']],
    ['a byte limit that is too high', { max_total_output_bytes: 1_073_741_825 }, ['PL3']],
    ['a limit of 1.5 files', { max_output_files: 1.5 }, [], ['PL3']],
    ['a command with a path', { allowed_commands: ['/bin/sh'] }, ['PL6']],
    ['a command with arguments', { allowed_commands: ['git push'] }, ['PL6']],
    ['a root with ..', { allowed_write_roots: ['..'] }, ['PL6']],
    ['an absolute root', { allowed_write_roots: ['/'] }, ['PL6']],
    ['a duplicate command', { allowed_commands: ['node', 'node'] }, [], ['PL6']],
    ['the name and content of strict', { ...builtInProfiles.strict }, []],
    ['the name of dev and other content', { name: 'dev' }, ['PL7']],
    ['an unknown key', { max_memory_bytes: 1 }, [], ['PL2']],
  ];
  test.each(judgedTitles(rows))('with %s', async (_, changes, broken, advice = []) => {
    const verdict = await judged(profile, exampleWith(profile, changes));
    expect({ broken: rulesOf(verdict), advice: adviceOf(verdict) }).toEqual({ broken, advice });
  });
});

describe('a run error', () => {
  const rows: Row[] = [
    ['only code and message', { rule_id: undefined, details: undefined }, []],
    ...[1, 2, 3, 4, 5, 6, 7].map((number): Row => [`code ${number}`, { code: `RUN_E00${number}` }, []]),
    ['an unknown code', { code: 'RUN_E008' }, ['RE1']],
    ['no code', { code: undefined }, ['RE1']],
    ['a blank message', { message: ' ' }, ['RE2']],
    ['a path in the message', { message: 'ENOENT: /tmp/x/intent.json' }, ['RE2']],
    ['a key in the message', { message: `Bearer ${'abcd'.repeat(6)} was refused.` }, ['RE2']],
    ['a malformed rule id', { rule_id: 'rule three' }, ['RE3']],
    ['details that are a list', { details: [] }, ['RE3']],
  ];
  test.each(judgedTitles(rows))('with %s', async (_, changes, broken, advice = []) => {
    const verdict = await judged(runError, exampleWith(runError, changes));
    expect({ broken: rulesOf(verdict), advice: adviceOf(verdict) }).toEqual({ broken, advice });
  });
});
