import { describe, expect, test } from 'vitest';
import { type Runner, runner } from '../../src/contracts/runner/index.ts';
import { verifyRunner } from '../../src/verify/index.ts';
import { adviceOf, exampleWith, judged, judgedText, rulesOf } from '../support/support.ts';
import { judgedTitles } from './artifacts-words.ts';

const record = (changes: Record<string, unknown>) => exampleWith(runner, changes);
const KNOWN_HASH = 'sha256:830861b74667a7c5b9967012e89ada945b3e53c0eb61ea74fbdfc6497edb22bc';
const timing = (changes: object) => ({ timing: { ...(runner.example as Runner).timing, ...changes } });

/** A change to the example, the rules that it breaks, and the rules that give advice. */
type Row = [about: string, changes: Record<string, unknown>, broken: string[], advice?: string[]];

const rows: Row[] = [
  ['the values of the example in the specification', {}, []],
  ['version 2.0.0', { runner_schema_version: '2.0.0' }, ['RN1']],
  ['no version', { runner_schema_version: undefined }, ['RN1']],
  ['an empty version', { runner_schema_version: '' }, ['RN1']],
  ['a version that is a number', { runner_schema_version: 1 }, ['RN1']],
  ['an id in upper case', { runner_id: 'runner_20260106_120000_ABC' }, ['RN2']],
  ['a short id', { runner_id: 'runner_2026_12_a' }, ['RN2']],
  ['an id with a line feed', { runner_id: 'runner_20260106_120000_abc\n' }, ['RN2']],
  ['an id with a prefix', { runner_id: 'x runner_20260106_120000_abc' }, ['RN2']],
  ['an id with an invalid date, which the pattern allows', { runner_id: 'runner_99999999_999999_a' }, []],
  ['no id', { runner_id: undefined }, ['RN2']],
  ['a runner version that is not a semantic version', { runner_version: 'banana' }, [], ['RN2']],
  ['a blank runner version', { runner_version: ' ' }, ['RN2']],
  ['an empty runner version', { runner_version: '' }, ['RN2']],
  ['the platform freebsd', { 'platform.os': 'freebsd' }, ['RN3']],
  ['the architecture riscv64', { 'platform.arch': 'riscv64' }, ['RN3']],
  ['the Node version vbanana', { 'platform.node_version': 'vbanana' }, ['RN3']],
  ['a Node version without v', { 'platform.node_version': '24.11.1' }, ['RN3']],
  ['the Node version v24', { 'platform.node_version': 'v24' }, ['RN3']],
  ['a nightly Node version', { 'platform.node_version': 'v26.0.0-nightly20260101abc' }, []],
  ['an empty npm version', { 'platform.npm_version': '' }, ['RN3']],
  ['an npm version with a leading zero', { 'platform.npm_version': '010.9.2' }, ['RN3']],
  ['an npm version with an empty identifier', { 'platform.npm_version': '10.9.2-a..b' }, ['RN3']],
  ['an npm version with a build', { 'platform.npm_version': '10.9.2-rc.1+build.5' }, []],
  ['an npm version that is not a version', { 'platform.npm_version': 'not-a-version' }, ['RN3']],
  ['no platform', { platform: undefined }, ['RN3']],
  ['a platform that is a list', { platform: [] }, ['RN3']],
  ['a process sandbox without isolation', { 'sandbox.isolation_level': 'none' }, ['RN4']],
  [
    'no backend but strict isolation',
    { 'sandbox.backend': 'none', 'sandbox.isolation_level': 'strict', 'sandbox.network_blocked': false },
    [],
    ['RN4'],
  ],
  ['no backend but a blocked network', { 'sandbox.backend': 'none', 'sandbox.isolation_level': 'none' }, [], ['RN4']],
  [
    'neither backend nor claims',
    { 'sandbox.backend': 'none', 'sandbox.isolation_level': 'none', 'sandbox.network_blocked': false },
    [],
  ],
  [
    'a process sandbox without isolation, and a flag of the wrong type',
    { 'sandbox.isolation_level': 'none', 'sandbox.network_blocked': 'x' },
    ['RN4', 'RN4'],
  ],
  ['an unknown backend', { 'sandbox.backend': 'jail' }, ['RN4']],
  ['network_blocked as a string', { 'sandbox.network_blocked': 'yes' }, ['RN4']],
  ['a timeout of 999', { 'limits.timeout_ms': 999 }, ['RN5']],
  ['a timeout of 1000', { 'limits.timeout_ms': 1000 }, []],
  ['a timeout of 600000', { 'limits.timeout_ms': 600_000 }, []],
  ['a timeout of 600001', { 'limits.timeout_ms': 600_001 }, ['RN5']],
  ['a timeout as a string', { 'limits.timeout_ms': '30000' }, ['RN5']],
  ['a limit of no files', { 'limits.max_output_files': 0 }, ['RN5']],
  ['a limit of 10001 files', { 'limits.max_output_files': 10_001 }, ['RN5']],
  ['a limit of 1023 output bytes', { 'limits.max_total_output_bytes': 1023 }, ['RN5']],
  ['an output limit of 1 GiB and 1 byte', { 'limits.max_total_output_bytes': 1_073_741_825 }, ['RN5']],
  ['a memory limit of 0', { 'limits.max_memory_bytes': 0 }, ['RN5']],
  ['a CPU time limit of -1', { 'limits.max_cpu_seconds': -1 }, ['RN5']],
  ['a null memory limit', { 'limits.max_memory_bytes': null }, ['RN5']],
  ['a timeout with half a millisecond', { 'limits.timeout_ms': 1000.5 }, [], ['RN5']],
  ['a limit of 1.5 files', { 'limits.max_output_files': 1.5 }, [], ['RN5']],
  ['a memory limit of 1e308', { 'limits.max_memory_bytes': 1e308 }, [], ['RN5']],
  ['a CPU time limit of half a second', { 'limits.max_cpu_seconds': 0.5 }, []],
  ['an allowlist out of order', { 'commands.allowlist': ['npm', 'node'] }, ['RN6']],
  ['a blocklist out of order', { 'commands.blocklist': ['b', 'a'] }, ['RN6']],
  ['a command both allowed and blocked', { 'commands.blocklist': ['npm'] }, ['RN6']],
  ['an empty shell path', { 'commands.shell': '' }, ['RN6']],
  ['a duplicate command', { 'commands.allowlist': ['a', 'a'] }, [], ['RN6']],
  ['commands that are numbers', { 'commands.allowlist': [1, 2] }, ['RN6', 'RN6']],
  ['commands that are not all strings', { 'commands.allowlist': ['a', null] }, ['RN6']],
  ['commands in UTF-16 order', { 'commands.allowlist': ['\u{1f600}', '\uffff'] }, []],
  ['commands in code point order', { 'commands.allowlist': ['\uffff', '\u{1f600}'] }, ['RN6']],
  ['a shell inside a home folder', { 'commands.shell': '/home/alice/bin/sh' }, [], ['RN6']],
  ['roots out of order', { write_roots: ['out', 'build'] }, ['RN7']],
  ['an absolute root', { write_roots: ['/etc'] }, ['RN7']],
  ['a root with ..', { write_roots: ['a/../b'] }, ['RN7']],
  ['a root with .. and a backslash', { write_roots: ['..\\x'] }, ['RN7']],
  ['a root on a drive', { write_roots: ['C:foo'] }, ['RN7']],
  ['a root on a network share', { write_roots: ['\\\\server\\share'] }, ['RN7']],
  ['a root in a home folder', { write_roots: ['~/x'] }, ['RN7']],
  ['an empty root', { write_roots: [''] }, ['RN7']],
  ['a NUL in a root', { write_roots: ['a\u0000b'] }, ['RN7']],
  ['a control character in a root', { write_roots: ['a\tb'] }, ['RN7']],
  ['a root that is not a string', { write_roots: [3] }, ['RN7']],
  ['the work folder itself as a root', { write_roots: ['.'] }, []],
  ['a root with two dots in its name', { write_roots: ['foo..bar'] }, []],
  ['a duplicate root', { write_roots: ['a', 'a'] }, [], ['RN7']],
  ['another working folder', { 'context.working_dir': './' }, ['RN8']],
  ['a forbidden variable', { 'context.env_allowlist': ['AWS_SECRET'] }, ['RN8']],
  ...['SSH_AUTH_SOCK', 'NPM_CONFIG_X', 'GIT_DIR', 'OPENAI_ORG', 'ANTHROPIC_BASE_URL'].map(
    (name): Row => [`the forbidden ${name}`, { 'context.env_allowlist': [name] }, ['RN8']],
  ),
  ['a variable out of order', { 'context.env_allowlist': ['TZ', 'LANG'] }, ['RN8']],
  ['a variable with its value', { 'context.env_allowlist': ['API_KEY=sk-live-123'] }, ['RN8']],
  ['a variable that is an object', { 'context.env_allowlist': [{}] }, ['RN8']],
  ...['GITHUB_TOKEN', 'aws_region', 'HOME', 'PATH', 'USER'].map(
    (name): Row => [`the revealing ${name}`, { 'context.env_allowlist': [name] }, [], ['RN8']],
  ),
  ['a duplicate variable', { 'context.env_allowlist': ['TZ', 'TZ'] }, [], ['RN8']],
  ...[
    'C',
    'POSIX',
    'C.UTF-8',
    'en',
    'en_US',
    'en_US.UTF-8',
    'de_DE@euro',
    'de_DE.ISO-8859-15@euro',
    'en-US',
    'zh-Hans-CN',
    'fil',
    'es_419',
  ].map((name): Row => [`the locale ${name}`, { 'context.locale': name }, []]),
  ...['', 'garbage!', 'english', 'EN_us', 'en_US.', 'en US', 'C.', 'en_US.UTF-8\n'].map(
    (name): Row => [`the locale ${JSON.stringify(name)}`, { 'context.locale': name }, ['RN8']],
  ),
  ['another time zone', { 'context.timezone': 'Europe/Berlin' }, [], ['RN8']],
  ['an empty time zone', { 'context.timezone': '' }, [], ['RN8']],
  ['a duration 1 ms off', { 'timing.duration_ms': 5001 }, []],
  ['a duration 2 ms off', { 'timing.duration_ms': 5002 }, ['RN9']],
  [
    'the date 30 February',
    timing({ started_at: '2026-02-30T12:00:00.000Z', completed_at: '2026-03-02T12:00:05.000Z' }),
    ['RN9'],
  ],
  ['an end before the start', timing({ completed_at: '2026-01-06T11:59:59.000Z' }), ['RN9']],
  ['a start with an offset', timing({ started_at: '2026-01-06T12:00:00.000+00:00' }), ['RN9']],
  ['a start with microseconds', timing({ started_at: '2026-01-06T12:00:00.000000Z' }), ['RN9']],
  ['a leap second', timing({ started_at: '2026-01-06T11:59:60Z' }), ['RN9']],
  [
    'times without milliseconds',
    timing({ started_at: '2026-01-06T12:00:00Z', completed_at: '2026-01-06T12:00:05Z' }),
    [],
  ],
  ['a start that is a number', timing({ started_at: 1767700800000 }), ['RN9']],
  [
    'ordered phases whose times are written differently',
    timing({
      phases: [
        { name: 'setup', started_at: '2026-01-06T12:00:00Z', duration_ms: 500 },
        { name: 'execute', started_at: '2026-01-06T12:00:00.500Z', duration_ms: 10 },
        { name: 'teardown', started_at: '2026-01-06T12:00:01Z', duration_ms: 0 },
      ],
    }),
    [],
  ],
  [
    'phases out of order',
    timing({
      phases: [
        { name: 'b', started_at: '2026-01-06T12:00:02Z', duration_ms: 0 },
        { name: 'a', started_at: '2026-01-06T12:00:01Z', duration_ms: 0 },
      ],
    }),
    ['RN9'],
  ],
  [
    'a phase of negative duration',
    timing({ phases: [{ name: 'a', started_at: '2026-01-06T12:00:01Z', duration_ms: -7 }] }),
    ['RN9'],
  ],
  [
    'a phase before the run',
    timing({ phases: [{ name: 'a', started_at: '1999-01-06T12:00:01Z', duration_ms: 1 }] }),
    [],
    ['RN9'],
  ],
  [
    'a phase that outlasts the run',
    timing({ phases: [{ name: 'a', started_at: '2026-01-06T12:00:01Z', duration_ms: 9000 }] }),
    [],
    ['RN9'],
  ],
  ['exit code 256', { 'exit.code': 256 }, ['RN10']],
  ['exit code -1', { 'exit.code': -1 }, ['RN10']],
  ['exit code 1.5', { 'exit.code': 1.5 }, ['RN10']],
  ['a signal in lower case', { 'exit.signal': 'sigkill' }, ['RN10']],
  ['a signal that is null', { 'exit.signal': null }, ['RN10']],
  ['an empty signal', { 'exit.signal': '' }, ['RN10']],
  ['a signal that is a sentence', { 'exit.signal': 'HELLO WORLD 123' }, ['RN10']],
  ['a kill by timeout', { exit: { code: 137, signal: 'SIGKILL', oom_killed: false, timeout_killed: true } }, []],
  ['a timeout without a signal', { exit: { code: 137, oom_killed: false, timeout_killed: true } }, [], ['RN10']],
  [
    'a timeout and exit 0',
    { exit: { code: 0, signal: 'SIGTERM', oom_killed: false, timeout_killed: true } },
    [],
    ['RN10'],
  ],
  [
    'every kind of ending at once',
    { exit: { code: 0, signal: 'SIGHUP', oom_killed: true, timeout_killed: true } },
    [],
    ['RN10', 'RN10'],
  ],
  ['ephemeral data', { ephemeral: { host_id: 'h', session_id: 's', human_notes: 'n' } }, []],
  ['ephemeral as a string', { ephemeral: 'x' }, ['RN11']],
  ['ephemeral with a number', { ephemeral: { host_id: 7 } }, ['RN11']],
  ['warnings in order', { warnings: ['a', 'b'] }, []],
  ['warnings out of order', { warnings: ['b', 'a'] }, ['RN12']],
  ['warnings that are numbers', { warnings: [1] }, ['RN12']],
  ['an unknown key', { surprise: 1 }, [], ['RN11']],
  ['an unknown nested key', { 'platform.hostname': 'x' }, [], ['RN3']],
  ['an unknown key in another alphabet', { ключ: 1 }, [], ['RN11']],
  [
    'faults in several places',
    { 'limits.timeout_ms': 1, write_roots: ['/'], 'exit.code': 999, runner_id: '' },
    ['RN2', 'RN5', 'RN7', 'RN10'],
  ],
];

describe('a runner record', () => {
  test.each(judgedTitles(rows))('with %s', async (_, changes, broken, advice = []) => {
    const verdict = await judged(runner, record(changes));
    expect({ broken: rulesOf(verdict), advice: adviceOf(verdict) }).toEqual({ broken, advice });
    expect(verdict.hash === undefined).toBe(broken.length > 0);
    expect(verifyRunner(record(changes)).violations).toEqual(verdict.violations);
  });

  const strict: [string, Record<string, unknown>, string[]][] = [
    ['an unknown key', { surprise: 1 }, ['RN11']],
    ['an unknown nested key', { 'platform.hostname': 'x' }, ['RN3']],
    ['an unknown key in ephemeral', { ephemeral: { x: 'y' } }, ['RN11']],
    ['no unknown key', {}, []],
  ];
  test.each(judgedTitles(strict))('with %s in strict mode', async (_, changes, broken) => {
    expect(rulesOf(await judged(runner, record(changes), { strict: true }))).toEqual(broken);
  });

  test('with non-canonical bytes gets advice, and a violation in strict mode', async () => {
    const pretty = JSON.stringify(runner.example, null, 2);
    expect(await judgedText(runner, pretty)).toMatchObject({
      outcome: 'valid',
      hash: KNOWN_HASH,
      advice: [{ rule_id: 'RN12' }],
    });
    expect(rulesOf(await judgedText(runner, pretty, { strict: true }))).toEqual(['RN12']);
  });

  test('with non-canonical bytes is reported along with other violations in strict mode', async () => {
    const pretty = JSON.stringify(record({ write_roots: ['/etc'] }), null, 2);
    expect(rulesOf(await judgedText(runner, pretty, { strict: true }))).toEqual(['RN7', 'RN12']);
  });

  test('with numeric and non-ASCII keys is canonical if they are sorted', async () => {
    const odd = { '': 1, 0: 2, 10: 3, 9: 4, ä: '€', '😀': 5 };
    expect(adviceOf(await judged(runner, record({ odd })))).toEqual(['RN11']);
    expect((await judged(runner, record({ odd }))).hash).toBe(KNOWN_HASH);
  });

  test('with one final line feed is canonical, and with two is not', async () => {
    const { canonicalize } = await import('../../src/base/canonical.ts');
    const text = canonicalize(runner.example);
    expect(adviceOf(await judgedText(runner, `${text}\n`))).toEqual([]);
    expect(adviceOf(await judgedText(runner, `${text}\n\n`))).toEqual(['RN12']);
  });

  test.each(['null', '[]', '3', '"x"', 'true'])('with the root %s breaks RN1, without a path', async text => {
    const { violations } = await judgedText(runner, text);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatchObject({ rule_id: 'RN1' });
    expect(violations[0]).not.toHaveProperty('path');
    expect(rulesOf(await judgedText(runner, text, { strict: true }))).toEqual(['RN1']);
  });

  test('with a __proto__ key gets advice and keeps its core hash', async () => {
    const text = JSON.stringify(runner.example).replace('{', '{"__proto__":{"runner_id":"x"},');
    expect(await judgedText(runner, text)).toMatchObject({ outcome: 'valid', hash: KNOWN_HASH });
    expect(adviceOf(await judgedText(runner, text))).toEqual(['RN11', 'RN12']);
    const nested = JSON.stringify(runner.example).replace('"os"', '"__proto__":{},"os"');
    const { outcome, hash } = await judgedText(runner, nested);
    expect(outcome).toBe('valid');
    expect(hash).not.toBe(KNOWN_HASH);
    expect((await judgedText(runner, '{"__proto__":{}}')).outcome).toBe('invalid');
  });
});

describe('the hash of a runner record', () => {
  test('matches the specification for the example', () => {
    expect(verifyRunner(runner.example).runner_hash).toBe(KNOWN_HASH);
  });

  test('covers neither ephemeral nor timing nor unknown keys', () => {
    const other = record({
      ephemeral: { human_notes: 'x' },
      surprise: 1,
      timing: { started_at: '2027-01-01T00:00:00Z', completed_at: '2027-01-01T00:00:00Z', duration_ms: 0 },
    });
    expect(verifyRunner(other).runner_hash).toBe(KNOWN_HASH);
  });

  test('covers everything else', () => {
    const changes: Record<string, unknown>[] = [
      { runner_id: 'runner_20260106_120000_abc124' },
      { 'exit.code': 1 },
      { warnings: [] },
      { 'platform.os': 'darwin' },
      { write_roots: [] },
      { 'context.locale': 'C' },
    ];
    const hashes = changes.map(change => verifyRunner(record(change)).runner_hash);
    expect(new Set([...hashes, KNOWN_HASH]).size).toBe(changes.length + 1);
  });

  test('that covers the environment is equal for two runs, and excludes id, exit, warnings and timing', async () => {
    const first = await judged(runner, runner.example);
    const second = await judged(
      runner,
      record({ runner_id: 'runner_20270101_000000_zz', warnings: ['x'], 'exit.code': 3 }),
    );
    expect(second.environment_hash).toBe(first.environment_hash);
    expect(second.hash).not.toBe(first.hash);
    expect((await judged(runner, record({ 'limits.timeout_ms': 2000 }))).environment_hash).not.toBe(
      first.environment_hash,
    );
  });
});

describe('verifyRunner never throws', () => {
  const cycle: Record<string, unknown> = { ...(runner.example as object) };
  cycle['self'] = cycle;
  const values: [string, unknown, string[]][] = [
    ['undefined', undefined, ['RN1']],
    ['a function', () => 1, ['RN1']],
    ['a cycle', cycle, ['RN12']],
    ['undefined inside a record', { ...(runner.example as object), extra: undefined }, ['RN12']],
    ['NaN', record({ 'limits.timeout_ms': Number.NaN }), ['RN5', 'RN12']],
    ['a Date', record({ 'timing.started_at': new Date(0) }), ['RN9', 'RN12']],
    ['half a surrogate pair', record({ runner_version: '1.0.0\ud800' }), ['RN12']],
    ['a hidden key', Object.defineProperty({ ...(runner.example as object) }, 'exit', { enumerable: false }), ['RN12']],
    [
      'a list of ten million holes',
      { ...(runner.example as object), write_roots: Object.assign([], { length: 10_000_000 }) },
      ['RN7', 'RN12'],
    ],
    [
      'an instance of a class',
      new Map(),
      ['RN1', 'RN2', 'RN3', 'RN4', 'RN5', 'RN6', 'RN7', 'RN8', 'RN9', 'RN10', 'RN12'],
    ],
    ['an object that inherits the record', Object.create(runner.example as object), ['RN12']],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('boo');
          },
          ownKeys: () => {
            throw new Error('boo');
          },
        },
      ),
      ['RN12'],
    ], // prettier-ignore
  ];
  test.each(values)('on %s', (_, value, broken) => {
    const result = verifyRunner(value);
    for (const { message } of result.violations) expect(message).toMatch(/^\S.*\.$/);
    expect({ valid: result.valid, broken: [...new Set(rulesOf(result))] }).toEqual({ valid: false, broken });
  });
});

test('a value with exponentially many shared references is checked in finite time', () => {
  let shared: unknown = 'x';
  for (let level = 0; level < 50; level++) shared = [shared, shared];
  expect(rulesOf(verifyRunner({ ...(runner.example as object), shared }))).toEqual(['RN12']);
});

test('violations are sorted by rule number, then by path in code units', async () => {
  const verdict = await judged(
    runner,
    record({ 'exit.code': 999, 'platform.os': 'x', 'platform.arch': 'x', runner_id: 'x', write_roots: ['/b', '/a'] }),
  );
  expect(verdict.violations.map(({ rule_id, path }) => `${rule_id} ${path}`)).toEqual([
    'RN2 runner_id',
    'RN3 platform.arch',
    'RN3 platform.os',
    'RN7 write_roots[0]',
    'RN7 write_roots[1]',
    'RN7 write_roots[1]',
    'RN10 exit.code',
  ]);
});
