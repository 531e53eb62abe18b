import { describe, expect, test } from 'vitest';
import type { Ending } from '../../../src/contracts/ending.ts';
import { type Metadata, metadata } from '../../../src/contracts/agent-step/index.ts';
import { runner } from '../../../src/contracts/runner/index.ts';
import type { Runner } from '../../../src/contracts/runner/shape.ts';
import { scriptOutcome, type ScriptOutcome } from '../../../src/contracts/script-outcome/index.ts';
import { scriptRequest, type ScriptRequest } from '../../../src/contracts/script-request/index.ts';
import { scriptResult, type ScriptResult } from '../../../src/contracts/script-result/index.ts';
import { scriptPage, type ScriptPageInput } from '../../../src/reports/pages/script-page.ts';

const request = scriptRequest.example as ScriptRequest;
const outcome = scriptOutcome.example as ScriptOutcome;
const result = scriptResult.example as ScriptResult;

function pageOf(over: Partial<ScriptPageInput> = {}) {
  return scriptPage({
    id: request.run_id,
    folder: '/nowhere',
    life: 'finished',
    isOpen: false,
    isWhole: true,
    keyIds: null,
    key: undefined,
    word: request.run_id,
    request,
    runner: runner.example as Runner,
    outcome,
    metadata: metadata.example as Metadata,
    result,
    streamBytes: () => Buffer.from('hello\n'),
    ...over,
  });
}

describe('the verdict of a script', () => {
  test.each<[Ending, string]>([
    [{ how: 'exited', code: 3 }, 'sum.py exited with code 3.'],
    [{ how: 'signalled', signal: 'SIGSEGV' }, 'The signal SIGSEGV ended sum.py.'],
    [{ how: 'killed', by: 'cancel', signal: 'SIGTERM' }, 'The run of sum.py was cancelled.'],
    [{ how: 'out_of_memory', code: 137 }, 'sum.py ran out of memory.'],
    [{ how: 'not_started', code: 127 }, 'sum.py could not start.'],
    [{ how: 'lost' }, 'Proctor was interrupted and did not see how sum.py ended.'],
  ])('says how it ended: %j', (ending, sentence) => {
    const { top } = pageOf({ outcome: { ...outcome, ending, status: 'failed', claimed_status: null } });
    expect(top).toMatchObject({ tone: 'bad', word: 'Failed', sentence });
  });

  test('names the limit that stopped it', () => {
    const ending: Ending = { how: 'killed', by: 'timeout', signal: 'SIGKILL' };
    const { top } = pageOf({ outcome: { ...outcome, ending, status: 'timed_out', claimed_status: null } });
    const seconds = (runner.example as Runner).limits.timeout_ms / 1_000;
    expect(top).toMatchObject({
      word: 'Timed out',
      sentence: `Proctor stopped sum.py at its time limit of ${seconds} s.`,
    });
  });

  test('puts the claim of the script beside a worse status', () => {
    const { top, data } = pageOf({ outcome: { ...outcome, status: 'failed', reason: 'artifact_type_forbidden' } });
    expect(top.sentence).toBe('sum.py exited with code 0. It claims success, but the run failed.');
    expect(data.ended).toMatchObject({ status: 'failed', claim: 'succeeded', is_overstated: true });
  });

  test('warns first if the folder does not verify', () => {
    const { top, data } = pageOf({ isWhole: false });
    expect(top).toMatchObject({ tone: 'bad', word: 'Does not verify' });
    expect(top.sentence).toMatch(/^The evidence was changed or is incomplete\. It says: sum\.py exited/);
    expect(data.evidence.is_whole).toBe(false);
  });

  test.each([
    ['alive', 'Running', /still running/],
    ['dead', 'Interrupted', /Run proctor recover/],
    ['foreign', 'Interrupted', /did not start it on this machine/],
    ['unknown', 'Unfinished', /journal cannot be read/],
  ] as const)('says what to do about a run that is %s', (life, word, sentence) => {
    const open = { outcome: undefined, runner: undefined, metadata: undefined, result: undefined };
    const { top, data } = pageOf({ ...open, life });
    expect(top).toMatchObject({ tone: 'unsure', word });
    expect(top.sentence).toMatch(sentence);
    expect(data).toMatchObject({ ended: null, step: null, script: { name: 'sum.py' }, is_output_known: false });
    expect(data.commands.map(({ command }) => command).join()).not.toContain('verify');
  });
});

describe('the limits of a script', () => {
  test('come from the plan while it runs, and their use is unknown', () => {
    const { timing: _, exit: __, ...planned } = runner.example as Runner;
    const { enforcement, limits, observed } = outcome;
    const plan = { runner: planned, enforcement, limits, observed, startedAtMs: Date.UTC(2026, 3, 3) };
    const open = { outcome: undefined, runner: undefined, metadata: undefined, result: undefined };
    const { data } = pageOf({ ...open, life: 'alive', plan });
    expect(data).toMatchObject({ ended: null, started_at: '2026-04-03T00:00:00.000Z', step: { streams: [] } });
    expect(data.step?.limits.map(({ used }) => used)).toEqual(data.step?.limits.map(() => null));
    expect(data.step?.limits[0]).toMatchObject({ name: 'Time', allowed: planned.limits.timeout_ms });
    expect(data.step?.sandbox.guards.find(({ name }) => name === 'Network')?.enforced).toBe('blocked');
  });

  test('put use beside limit, and unknown use is null, not 0', () => {
    const usage = { cpu_ms: null, memory_peak_bytes: null, forks_denied: null, measured_by: null };
    const limits = pageOf({ outcome: { ...outcome, usage } }).data.step?.limits ?? [];
    const named = (name: string) => limits.find(limit => limit.name === name);
    expect(named('Memory')).toMatchObject({ used: null, asked: 536_870_912, unit: 'bytes' });
    expect(named('CPU time')).toMatchObject({ used: null });
    expect(named('Output files')).toMatchObject({ used: outcome.artifacts.files, asked: 100 });
  });

  test('state CPU time in milliseconds', () => {
    const claims = [{ limit: 'cpu_seconds', value: 30, claim: 'watched' }] as const;
    const enforcement = { ...outcome.enforcement, claims: [...claims] };
    const cpu = pageOf({ outcome: { ...outcome, enforcement } }).data.step?.limits[1];
    expect(cpu).toMatchObject({ name: 'CPU time', asked: 30_000, allowed: 30_000, strength: 'watched' });
  });

  test('do not count the files of a run that was interrupted before Proctor read them', () => {
    const recovered = { at: '2026-04-03T10:20:00.000Z', unknown: ['output' as const] };
    const { data } = pageOf({ outcome: { ...outcome, recovered } });
    expect(data.is_output_known).toBe(false);
    expect(data.step?.limits.find(({ name }) => name === 'Output files')?.used).toBeNull();
    expect(data.step?.recovered).toEqual(recovered);
  });

  test('show old evidence without claims as of unknown strength', () => {
    const { claims: _, ...enforcement } = outcome.enforcement;
    const time = pageOf({ outcome: { ...outcome, enforcement } }).data.step?.limits[0];
    expect(time).toMatchObject({ allowed: (runner.example as Runner).limits.timeout_ms, strength: null });
  });
});

describe('the commands of a script', () => {
  const again = (over: Partial<ScriptRequest>) =>
    pageOf({ request: { ...request, ...over } }).data.commands.find(({ does }) => does === 'Run the script again');

  test('run it again as it was requested, quoted for a shell', () => {
    const { command, note } = again({ args: ["it's", '--all'], env_names: ['LANG', 'SHOP_TOKEN'] }) ?? {};
    expect(command).toBe(
      "proctor run script sum.py --input orders.csv --env LANG --secret SHOP_TOKEN --profile strict --isolation strict --timeout 60s --idle-timeout 20s --memory 536870912 --cpu-seconds 30 --pids 64 --max-files 100 --max-bytes 10485760 -- 'it'\\''s' --all",
    );
    expect(note).toContain('Set the variables first');
  });

  test('say that masked arguments must be replaced', () => {
    expect(again({})?.note).toContain('Replace [masked] in the arguments.');
  });

  test('never offer a command with characters that a reader cannot see', () => {
    expect(again({ args: ['\u202egnp.exe'] })).toBeUndefined();
    expect(again({ args: ['a\nrm -rf .'] })).toBeUndefined();
  });

  test('do not let a file name pass for a flag', () => {
    expect(again({ script: { ...request.script, name: '--help.py' }, args: [] })?.command).toContain('./--help.py');
  });
});

test('every list and text on the page is bounded, and the total is kept', () => {
  const many = Array.from({ length: 1_500 }, (_, index) => `output/${index}.txt`);
  const { data } = pageOf({
    request: { ...request, args: many.map(name => name.repeat(500)) },
    result: { ...result, artifacts: many.map(path => ({ path, bytes: 1 })), error_summary: 'x'.repeat(100_000) },
    outcome: { ...outcome, artifacts: { ...outcome.artifacts, files: 9_000 } },
  });
  expect(data.files).toMatchObject({ total: 9_000 });
  expect(data.files.shown).toHaveLength(500);
  expect(data.args).toMatchObject({ total: 1_500 });
  expect(data.args.shown).toHaveLength(200);
  expect(data.args.shown[0]?.length).toBe(2_001);
  expect(data.ended?.summary?.length).toBe(4_001);
  expect(data.commands.some(({ does }) => does === 'Run the script again')).toBe(false);
});

test('files that need review come first', () => {
  const artifacts = [
    { path: 'output/a.txt', bytes: 1 },
    { path: 'output/id_rsa', bytes: 2 },
  ];
  const flagged = [{ path: 'output/id_rsa', code: 'credential_in_file' as const, kinds: ['private_key'] }];
  const { data } = pageOf({
    result: { ...result, artifacts },
    outcome: { ...outcome, masking: { credentials: 'masked', kinds: {}, flagged } },
  });
  expect(data.files.shown.map(({ path, review }) => [path, review])).toEqual([
    ['output/id_rsa', 'contains a credential (private key)'],
    ['output/a.txt', null],
  ]);
});
