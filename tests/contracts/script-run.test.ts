import { describe, expect, test } from 'vitest';
import { check, type Violation } from '../../src/contracts/check.ts';
import { scriptOutcome } from '../../src/contracts/script-outcome/index.ts';
import { scriptRequest } from '../../src/contracts/script-request/index.ts';
import { exampleWith, judged } from '../support/support.ts';
import { titled } from './artifacts-words.ts';

type Row = [about: string, changes: Record<string, unknown>, broken: string[], advice?: string[]];

const named = (name: string) => ({ ...(scriptRequest.example as { script: object }).script, name });

const requests: Row[] = [
  ['a run id that is a path', { run_id: '../other' }, ['SQ2 run_id']],
  ['another kind', { kind: 'intent' }, ['SQ2 kind']],
  ...['a/b.py', 'a\\b.py', '/home/me/x.py', '..', '.', '', '~x', 'C:x', 'a\nb', 'a\u202eb', 'x'.repeat(256)].map(
    (name): Row => [
      `a script named ${JSON.stringify(name.slice(0, 20))}`,
      { 'script.name': name },
      ['SQ3 script.name'],
    ],
  ),
  ['a non-ASCII script name', { 'script.name': 'Übersicht 2.py' }, []],
  ['an interpreter with a path', { 'interpreter.name': '/usr/bin/python3' }, ['SQ3 interpreter.name']],
  ['an interpreter with a version', { 'interpreter.name': 'python3.11' }, []],
  ['an argument with a host path', { args: ['/home/me/data.csv'] }, []],
  ['a credential as an argument', { args: ['x', `--key=sk-${'a1b2'.repeat(8)}`] }, ['SQ4 args[1]']],
  ['a password in a URL', { args: ['https://me:hunter2@example.org/'] }, ['SQ4 args[0]']],
  ['a masked password in a URL', { args: ['https://me:[masked]@example.org/'] }, []],
  ['an argument that is not a string', { args: [1] }, ['SQ4 args[0]']],
  ['no input', { inputs: [] }, []],
  ['an input with a path', { inputs: [named('data/orders.csv')] }, ['SQ5 inputs[0].name']],
  ['a duplicate input', { inputs: [named('a.csv'), named('b.csv'), named('A.CSV')] }, ['SQ5 inputs[2].name']],
  ['1,001 inputs', { inputs: Array.from({ length: 1_001 }, (_, index) => named(`i${index}`)) }, ['SQ5 inputs']],
  ['an input with a hash of another algorithm', { 'inputs.0.sha256': 'md5:00' }, ['SQ5 inputs[0].sha256']],
  ['variables out of order', { env_names: ['LANG', 'HOME'] }, ['SQ6 env_names[1]']],
  ['a duplicate variable', { env_names: ['LANG', 'LANG'] }, ['SQ6 env_names[1]']],
  ['a variable with its value', { env_names: ['LANG=C'] }, ['SQ6 env_names[0]']],
  ['a variable reserved for credentials', { env_names: ['OPENAI_API_KEY'] }, ['SQ6 env_names[0]']],
  ['a secret that is not declared', { env_names: ['DB_PASSWORD'] }, [], ['SQ6 env_names[0]']],
  ['the folder variables of a sandbox', { env_names: ['HOME', 'PATH'] }, []],
  ['secrets out of order', { env_names: [], secret_names: ['B', 'A'] }, ['SQ6 secret_names[1]']],
  ['no profile', { 'requested.profile': null }, []],
  ['a profile without a name', { 'requested.profile': ' ' }, ['SQ7 requested.profile']],
  ['an unknown sandbox', { 'requested.sandbox': 'jail' }, ['SQ7 requested.sandbox']],
  [
    'no requested sandbox',
    { 'requested.sandbox': null, 'requested.isolation': null, 'requested.idle_timeout_ms': null },
    [],
  ],
  ...[
    ...['timeout_ms', 'idle_timeout_ms', 'memory_bytes', 'cpu_seconds', 'pids'],
    ...['max_output_files', 'max_total_output_bytes'],
  ].flatMap((key): Row[] => [
    [`no requested ${key}`, { [`requested.${key}`]: null }, []],
    [`a ${key} of 0`, { [`requested.${key}`]: 0 }, [`SQ7 requested.${key}`]],
    [`a missing ${key}`, { [`requested.${key}`]: undefined }, [`SQ7 requested.${key}`]],
  ]),
  ['half a process', { 'requested.pids': 0.5 }, ['SQ7 requested.pids']],
];

const FAILED = { status: 'failed', reason: 'exit_code', public_message: 'The script failed.' };
const LATE = { ...FAILED, status: 'timed_out', reason: 'timeout' };
const KILLED = { how: 'killed', by: 'idle', signal: 'SIGKILL' };
const said = (public_message: string) => ({ ...FAILED, public_message });

const outcomes: Row[] = [
  ['a failure', { ...FAILED, ending: { how: 'exited', code: 3 } }, []],
  ['a salvaged failure', { ...FAILED, salvaged: true, claimed_status: null, result: null }, []],
  ['a claim of success by a program that failed', { ...FAILED, ending: { how: 'exited', code: 1 } }, []],
  ['a success that the script did not claim', { claimed_status: null, result: null }, ['SO3 status']],
  ['a success that the script denied', { claimed_status: 'failed' }, ['SO3 status']],
  ['a success of a program that was killed', { ending: { how: 'signalled', signal: 'SIGSEGV' } }, ['SO3 status']],
  ['a success of a lost run', { ending: { how: 'lost' } }, ['SO3 status']],
  ['a failure without a reason', { ...FAILED, reason: null, public_message: null }, ['SO4 reason']],
  ['a reason without a message', { ...FAILED, public_message: null }, ['SO4 public_message']],
  ['a success with a message', { public_message: 'All is well.' }, ['SO4 public_message']],
  ['a reason in a sentence', { ...FAILED, reason: 'Exit code 1' }, ['SO4 reason']],
  ['a message with a trace', said('Traceback (most recent call last):'), ['SO4 public_message']],
  ['a message with a path', said('No such file: /home/alice/x'), ['SO4 public_message']],
  ['a message with a credential', said(`Refused: sk-${'a1b2'.repeat(8)}`), ['SO4 public_message']],
  ['a message that is too long', said('x'.repeat(2_001)), ['SO4 public_message']],
  ['a timeout by Proctor', { ...LATE, timeout_source: 'proctor', ending: KILLED }, []],
  ['a timeout by Proctor without a kill', { ...LATE, timeout_source: 'proctor' }, ['SO5 ending']],
  ['a timeout without a source', { ...LATE, ending: KILLED }, ['SO5 timeout_source']],
  ['a timeout kill that is called a failure', { ...FAILED, ending: KILLED }, ['SO5 timeout_source']],
  ['a timeout that the script claims', { ...LATE, timeout_source: 'script', claimed_status: 'timed_out' }, []],
  ['a timeout that the script did not claim', { ...LATE, timeout_source: 'script' }, ['SO5 timeout_source']],
  [
    'a timeout by Proctor that is attributed to the script',
    { ...LATE, timeout_source: 'script', claimed_status: 'timed_out', ending: KILLED },
    ['SO5 timeout_source'],
  ],
  ['a cancelled run', { ...FAILED, ending: { ...KILLED, by: 'cancel' } }, []],
  ['a program that ran out of memory', { ...FAILED, ending: { how: 'out_of_memory', code: 137 } }, []],
  ['a missing program', { ...FAILED, ending: { how: 'not_started', code: 127 } }, []],
  ['a missing program with another code', { ...FAILED, ending: { how: 'not_started', code: 1 } }, ['SO5 ending.code']],
  ['a code above 255', { ...FAILED, ending: { how: 'exited', code: 256 } }, ['SO5 ending.code']],
  ['an ending without a signal', { ...FAILED, ending: { how: 'killed', by: 'cpu' } }, ['SO5 ending.signal']],
  ['an unknown ending', { ...FAILED, ending: { how: 'vanished' } }, ['SO5 ending.how']],
  ['an ending that does not say how', { ...FAILED, ending: { code: 0 } }, ['SO5 ending.how']],
  ['an ending that is a number', { ...FAILED, ending: 0 }, ['SO5 ending']],
  ['a claim without a result', { ...FAILED, result: null }, ['SO7 result']],
  ['a duplicate stream', { 'streams.1.name': 'stdout' }, ['SO8 streams[1].name']],
  ['no streams', { streams: [] }, []],
  ['a truncated stream without a cut', { 'streams.0.bytes_kept': 300, 'streams.0.truncated': true }, ['SO9 cuts']],
  [
    'a truncated stream with its cut',
    {
      'streams.0.bytes_kept': 300,
      'streams.0.truncated': true,
      cuts: [{ what: 'stdout', bytes_total: 312, bytes_kept: 300 }],
    },
    [],
  ],
  ['a cut stream that is not marked truncated', { 'streams.0.bytes_kept': 300 }, ['SO8 streams[0].truncated']],
  ['a cut with an invalid name', { 'cuts.0.what': 'the end' }, ['SO9 cuts[0].what']],
  ['a duplicate in replaced', { replaced: ['a', 'b', 'a'] }, [], ['SO9 replaced[2]']],
  ['51 missing files', { 'artifacts.declared_missing': Array(51).fill('x') }, ['SO10 artifacts.declared_missing']],
  [
    'bytes without a file',
    { artifacts: { files: 0, bytes: 1, declared_missing: [], undeclared: 0, size_mismatches: 0 } },
    ['SO10 artifacts.bytes'],
  ],
  [
    'a size mismatch without a declared file',
    { 'artifacts.undeclared': 2, 'artifacts.size_mismatches': 1 },
    ['SO10 artifacts.files'],
  ],
  ['an unknown enforcement mechanism', { 'enforcement.memory': 'ulimit' }, ['SO11 enforcement.memory']],
  ['usage that was not measured', { 'usage.cpu_ms': null, 'usage.memory_peak_bytes': null }, []],
  ['a duplicate guarantee', { 'observed.1.what': 'network' }, ['SO12 observed[1].what']],
  ['a disproved guarantee without success', { ...FAILED, 'observed.0.held': false }, []],
  ['a disproved guarantee with success', { 'observed.0.held': false }, ['SO12 observed[0].held']],
  ['no guarantees', { observed: [] }, []],
];

describe.each([
  [scriptRequest, requests],
  [scriptOutcome, outcomes],
] as const)('$name', (contract, rows) => {
  test.each(titled(rows))('%s', (_, changes, broken, advice) => {
    const found = check(contract, exampleWith(contract, changes), { strict: false, internal: false });
    expect(found.violations.map(place)).toEqual(broken);
    expect(found.advice.map(place)).toEqual(advice);
  });
});

test('an unknown ending is reported with the allowed ones', async () => {
  const { violations } = await judged(scriptOutcome, exampleWith(scriptOutcome, { 'ending.how': 'vanished' }));
  expect(violations[0]?.message).toBe(
    'ending.how must be one of "exited", "signalled", "killed", "out_of_memory", "not_started", "lost".',
  );
});

function place({ rule_id, path }: Violation): string {
  return `${rule_id} ${path}`;
}
