import { cpSync, existsSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { IntentOutcome } from '../../../src/contracts/intent/index.ts';
import { SEAL } from '../../../src/evidence/run-folder/finish.ts';
import { Journal, JOURNAL } from '../../../src/evidence/run-folder/journal.ts';
import { recoverRun } from '../../../src/evidence/recovery/recover.ts';
import { KINDS } from '../../../src/run/kinds.ts';
import type { Runner } from '../../../src/contracts/runner/shape.ts';
import type { RunResult } from '../../../src/contracts/run-result/index.ts';
import { closeLauncher, sharedLauncher } from '../../../src/verbs/launcher.ts';
import { endProcess, processesOf } from '../../support/runs.ts';
import { proveJournal, temporaryFolder } from '../../support/support.ts';
import { canonicalPart, expectSound, node, own, ran, saidIn, toldOf, writes } from './world.ts';

afterAll(() => closeLauncher());

const read = (folder: string, file: string): unknown => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));

const BECAUSE = { reason: 'interrupted', message: 'It was interrupted.', detail: 'Killed.' };

/** Recovers a run from these lines of its journal. */
async function recoverFrom(folder: string, lines: readonly unknown[]): Promise<void> {
  writeFileSync(path.join(folder, JOURNAL), lines.map(line => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
  proveJournal(folder);
  expect(await recoverRun(folder, KINDS, { nowMs: Date.now(), because: BECAUSE })).toBe('recovered');
}

const intent = (rest: object): object => ({ goal: 'Try it', ...rest });

describe('an executed intent', () => {
  test('leaves its outputs, and lists them', async () => {
    const { result, folder } = await ran(
      intent({
        files: [
          { path: 'src/name.txt', content: 'world' },
          { path: 'out/kept.txt', content: 'kept' },
        ],
        commands: [
          writes(`fs.writeFileSync('out/a.json', JSON.stringify({ hello: String(fs.readFileSync('src/name.txt')) }))`),
          node('console.log("second")'),
        ],
        outputs: ['out/kept.txt', 'out/a.json'],
        accept: [
          { check: 'exit_code', equals: 0 },
          { check: 'file_exists', path: 'out/kept.txt' },
          { check: 'content_matches', path: 'out/a.json', pattern: '"hello":\\s*"world"' },
          { check: 'json_schema', path: 'out/a.json', schema: { type: 'object', required: ['hello'] } },
        ],
      }),
    );
    expect(result).toMatchObject({
      kernel_result_kind: 'BUNDLE',
      decision: { accepted: true, reasons: ['2 commands ended with 0, 2 outputs are there, 4 checks held.'] },
      execution: { exit_code: 0, outputs: [{ path: 'out/a.json' }, { path: 'out/kept.txt', size_bytes: 4 }] },
    });
    expect(readFileSync(path.join(folder, 'output/out/a.json'), 'utf8')).toBe('{"hello":"world"}');
    expect(saidIn(folder)).toBe('second\n');
  });

  test('shows no host path in its result, although its commands have some', async () => {
    const { result, folder } = await ran(intent({ commands: [node('0', '/etc/passwd', 'x', '/home/someone/a')] }));
    expect(result.execution?.cmd).toEqual(['node', '-e', '0', '[a word with a path]', 'x', '[a word with a path]']);
    expect(readFileSync(path.join(folder, 'bundle.json'), 'utf8')).toContain('/home/someone/a');
  });

  test("accepts arguments up to the kernel's limit", async () => {
    const { result } = await ran(intent({ commands: [node('0', 'x'.repeat(131_071))] }));
    expect(result.decision.accepted).toBe(true);
    const told = await ran(intent({ commands: [node('0', 'x'.repeat(131_072))] })).catch(toldOf);
    expect(told).toBe(
      'RUN_E003: The intent is invalid: commands[0].argv[3] is too long: the kernel accepts less than 128 KiB per argument. Put the text into a file.',
    );
  });

  test('hides absolute paths, and shows every other argument', async () => {
    const words = [
      '/data/customers/x.csv',
      '--in=/srv2/x',
      '-I/app/include',
      '~/secrets',
      'D:/x',
      'out/a',
      'a:b',
      '3/4',
    ];
    const { result } = await ran(intent({ commands: [node('0', ...words, 'https://example.org/data/x')] }));
    const hidden = Array.from({ length: 5 }, () => '[a word with a path]');
    expect(result.execution?.cmd).toEqual([
      ...['node', '-e', '0', ...hidden],
      ...['out/a', 'a:b', '3/4', 'https://example.org/data/x'],
    ]);
  });

  test('may have files of any name that its profile allows', async () => {
    const code = `for (const name of ['output', 'input/a', 'A', 'a', '-x', 'tmp/x']) console.log(name, fs.readFileSync(name).length)`;
    const files = ['output', 'input/a', 'A', 'a', '-x', 'tmp/x'].map(name => ({ path: name, content: 'x' }));
    const { folder } = await ran(intent({ files, commands: [writes(code)] }));
    expect(saidIn(folder)).toBe('output 1\ninput/a 1\nA 1\na 1\n-x 1\ntmp/x 1\n');
  });

  test('may have commands with many words', async () => {
    const words = Array.from({ length: 3_990 }, () => 'x');
    const files = Array.from({ length: 300 }, (_, at) => ({ path: `f${at}`, content: '' }));
    const { result } = await ran(
      intent({
        files,
        commands: [node('0'), node('0', ...words), node('0', 'y'.repeat(100_000), 'y'.repeat(100_000))],
      }),
    );
    expect(result.decision.accepted).toBe(true);
  });
});

/** The failure, its exit code, and the reasons. */
const TROUBLES: readonly [string, object, number, string[], string?][] = [
  [
    'does not exist',
    { commands: [{ argv: ['no-such-program'] }] },
    127,
    ['commands[0] could not be started: there is no such program in the sandbox.'],
    'dev',
  ],
  [
    'is a script that is not executable',
    { files: [{ path: 'tool', content: 'x' }], commands: [{ shell: './tool' }] },
    126,
    ['commands[0] ended with exit code 126.'],
    'dev',
  ],
  [
    'fails halfway',
    { commands: [node('0'), node('process.exit(7)'), node('0')] },
    7,
    ['commands[1] ended with exit code 7.'],
  ],
  [
    'crashes',
    { commands: [node('process.kill(process.pid, "SIGSEGV")')] },
    139,
    ['commands[0] ended with exit code 139.'],
  ],
  [
    'kills itself',
    { commands: [node('process.kill(process.pid, "SIGKILL")')] },
    137,
    ['commands[0] ended with exit code 137.'],
  ],
  [
    'never ends',
    { limits: { timeout_ms: 1_000 }, commands: [node('for (;;);')] },
    143,
    ['commands[0] was stopped: it exceeded its time limit.'],
  ],
  [
    'exceeds its memory limit',
    { commands: [node('const all = []; for (;;) all.push(Buffer.alloc(5e7, 1))')] },
    137,
    ['commands[0] ran out of memory.'],
  ],
  [
    'has a child that exceeds the memory limit, and exits with 0',
    { commands: [{ shell: `node -e 'const all = []; for (;;) all.push(Buffer.alloc(5e7, 1))'; exit 0` }] },
    137,
    ['commands[0] ran out of memory.'],
    'dev',
  ],
  [
    'does not create its output',
    { commands: [node('0')], outputs: ['out/a'] },
    1,
    ['The output "out/a" is not there.'],
  ],
  [
    'creates a folder as its output',
    { commands: [writes(`fs.mkdirSync('out/a')`)], outputs: ['out/a'] },
    1,
    ['The output "out/a" is not there.'],
  ],
  [
    'creates a link out of the sandbox as its output',
    { commands: [writes(`fs.symlinkSync('/etc/hostname', 'out/a')`)], outputs: ['out/a'] },
    1,
    ['The run left files of a kind that is not allowed.'],
  ],
  [
    'creates a link to a folder as its output',
    { commands: [writes(`fs.symlinkSync('/etc', 'out/d')`)], outputs: ['out/d/'] },
    1,
    ['The run left files of a kind that is not allowed.'],
  ],
  [
    'creates a hard link to its output',
    { commands: [writes(`fs.writeFileSync('out/b', ''); fs.linkSync('out/b', 'out/a')`)], outputs: ['out/a', 'out/b'] },
    1,
    ['The run left files of a kind that is not allowed.'],
  ],
  [
    'creates a pipe as its output',
    { commands: [{ shell: 'mkdir out && mkfifo out/a' }], outputs: ['out/a'] },
    1,
    ['The run left files of a kind that is not allowed.'],
    'dev',
  ],
  [
    'creates names that differ only in case',
    { commands: [writes(`fs.writeFileSync('out/a', ''); fs.writeFileSync('out/A', '')`)], outputs: ['out/'] },
    1,
    ['The run left files of a kind that is not allowed.'],
  ],
  [
    'creates names that are not valid text',
    { commands: [writes(`fs.writeFileSync(Buffer.from([0x6f, 0x75, 0x74, 0x2f, 0xff]), '')`)], outputs: ['out/'] },
    1,
    ['The run left files of a kind that is not allowed.'],
  ],
  [
    'creates names with control characters',
    { commands: [writes(`fs.writeFileSync('out/\\u001b[31m', '')`)], outputs: ['out/'] },
    1,
    ['The run left files of a kind that is not allowed.'],
  ],
  [
    'writes too many bytes',
    {
      limits: { max_total_output_bytes: 2_048 },
      commands: [writes(`fs.writeFileSync('out/a', 'x'.repeat(4_000))`)],
      outputs: ['out/a'],
    },
    1,
    ['The run left more output than its limits allow.'],
  ],
  [
    'creates too many files',
    {
      limits: { max_output_files: 2 },
      commands: [writes(`for (const n of 'abc') fs.writeFileSync('out/' + n, '')`)],
      outputs: ['out/'],
    },
    1,
    ['The run left more output than its limits allow.'],
  ],
  [
    'fails a content check',
    {
      commands: [writes(`fs.writeFileSync('out/a', 'b')`)],
      outputs: ['out/a'],
      accept: [{ check: 'content_matches', path: 'out/a', pattern: '^a$' }],
    },
    1,
    ['accept[0], content_matches: The content does not match the pattern.'],
  ],
  [
    'fails a schema check',
    {
      commands: [writes(`fs.writeFileSync('out/a', '[]')`)],
      outputs: ['out/a'],
      accept: [{ check: 'json_schema', path: 'out/a', schema: { type: 'object' } }],
    },
    1,
    ['accept[0], json_schema: The document must be object.'],
  ],
  [
    'fails a hash check',
    {
      commands: [writes(`fs.writeFileSync('out/a', '')`)],
      outputs: ['out/a'],
      accept: [{ check: 'sha256', path: 'out/a', sha256: `sha256:${'0'.repeat(64)}` }],
    },
    1,
    ['accept[0], sha256: The file has a different hash.'],
  ],
  [
    'fails a check for a file in a folder',
    {
      commands: [writes(`fs.writeFileSync('out/b', '')`)],
      outputs: ['out/'],
      accept: [{ check: 'file_exists', path: 'out/a' }],
    },
    1,
    ['accept[0], file_exists: The file does not exist.'],
  ],
];

describe('a command', () => {
  test.each(TROUBLES)('that %s is reported, and never accepted', async (_, rest, code, reasons, policy = 'strict') => {
    const { result } = await ran(intent(rest), { policy });
    expect(result).toMatchObject({ kernel_result_kind: 'BUNDLE', decision: { accepted: false, reasons } });
    expect(result.execution?.exit_code).toBe(code);
    if (result.execution?.output_truncated)
      expect(reasons).toEqual(['The run left more output than its limits allow.']);
  });

  test('that tries to break out is blocked everywhere, under the profile strict', async () => {
    const code = `const { spawnSync } = require('node:child_process');
const tried = (what, work) => { try { work(); console.log(what, 'done'); } catch (error) { console.log(what, error.code); } };
for (const place of ['x', '/x', '/work/x', '/usr/x', 'src/x', 'out/../x', '../x']) tried(place, () => fs.writeFileSync(place, ''));
tried('out/x', () => fs.writeFileSync('out/x', ''));
for (const file of ['/etc/shadow', '/root', '/home', '/proc/1/environ', '/sys/kernel', '${process.cwd()}']) tried('read', () => fs.readdirSync(file).length || fs.readFileSync(file));
for (const [program, ...args] of [['sh', '-c', 'id'], ['/bin/sh', '-c', 'id'], ['id'], ['/usr/bin/id'], ['bash']]) console.log(program, spawnSync(program, args).error?.code);
require('node:net').connect(80, '1.1.1.1').on('error', error => console.log('net', error.code));
require('node:net').connect(1, '127.0.0.1').on('error', error => console.log('loopback', error.code));`;
    const { folder, result } = await ran(intent({ files: [{ path: 'src/a', content: '' }], commands: [writes(code)] }));
    const lines = saidIn(folder).trimEnd().split('\n');
    const done = lines.filter(line => line.endsWith(' done'));
    expect(done).toEqual(['out/x done']);
    for (const line of lines.filter(one => /x [A-Z]/.test(one))) expect(line).toMatch(/ (?:EROFS|EACCES|EPERM)$/);
    for (const program of ['sh', '/bin/sh', 'id', '/usr/bin/id', 'bash']) expect(lines).toContain(`${program} ENOENT`);
    expect(lines.some(line => /^net E(?:NETUNREACH|ACCES|PERM|AFNOSUPPORT)/.test(line))).toBe(true);
    expect(result.execution?.outputs).toEqual([]);
  });

  test('that leaves a process running ends with its own exit code', async () => {
    const code = `require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => require("node:fs").writeFileSync("out/late", ""), 300)'], { detached: true, stdio: 'ignore' }).unref()`;
    const { result } = await ran(
      intent({ commands: [node(code), node('setTimeout(() => {}, 800)')], outputs: ['out/'] }),
    );
    expect(result.decision).toMatchObject({ accepted: false, reasons: ['The output "out/" is not there.'] });
  });

  test('that writes outside the write roots changes nothing for the next command', async () => {
    const files = [{ path: 'src/a', content: 'true' }];
    const { folder } = await ran(
      intent({
        files,
        commands: [
          writes(
            `for (const act of [() => fs.writeFileSync('src/a', ''), () => fs.unlinkSync('src/a'), () => fs.renameSync('src', 'out/src'), () => fs.chmodSync('src/a', 0o777)]) try { act(); console.log('changed'); } catch {}`,
          ),
          writes(`console.log(String(fs.readFileSync('src/a')))`),
        ],
      }),
    );
    expect(saidIn(folder)).toBe('true\n');
  });
});

describe('a profile from a file', () => {
  test('limits the run, and is stored in the run folder and in the result', async () => {
    const policy = own({
      allowed_write_roots: ['a/b', 'a', 'output'],
      allowed_commands: ['node'],
      allow_network: true,
    });
    const { result, folder } = await ran(
      intent({
        commands: [writes(`fs.writeFileSync('a/b/c', ''); fs.writeFileSync('output/d', '')`)],
        outputs: ['a/b/c', 'output/d'],
      }),
      { policy },
    );
    expect(result.decision.accepted).toBe(true);
    expect(result.policy).toEqual(policy);
    expect(read(folder, 'policy.json')).toEqual(policy);
    const runner = read(folder, 'evidence/runner.json') as Runner;
    // The profile allows it, but the intent does not request it.
    expect(runner.sandbox.network_blocked).toBe(true);
    expect(runner.write_roots).toEqual(['a', 'a/b', 'output']);
    expect(runner.commands).toMatchObject({ allowlist: ['node'], shell: 'none' });
  });

  test('with the work folder as its only write root lets an intent write everywhere in it', async () => {
    const { result } = await ran(intent({ commands: [writes(`fs.writeFileSync('x', '')`)], outputs: ['x'] }), {
      policy: own({ allowed_write_roots: ['.'] }),
    });
    expect(result.decision.accepted).toBe(true);
  });
});

describe('the kept files of a sandbox', () => {
  test('are complete and unprivileged, and do not appear in the evidence', async () => {
    const code = `fs.writeFileSync('out/tool', 'x'); fs.chmodSync('out/tool', 0o6755); fs.symlinkSync('/etc', 'out/link'); fs.writeFileSync(Buffer.from([0x6f, 0x75, 0x74, 0x2f, 0xff]), '');`;
    const { internal, folder, result } = await ran(intent({ commands: [writes(code)], outputs: ['out/tool'] }), {
      keepSandbox: true,
    });
    const kept = internal.sandbox_path ?? '';
    expect(result.decision.accepted).toBe(true);
    expect(readdirSync(path.join(kept, 'out')).sort()).toEqual(['link', 'tool']);
    expect(statSync(path.join(kept, 'out/tool')).mode & 0o7000).toBe(0);
    expect(lstatSync(path.join(kept, 'out/link')).isSymbolicLink()).toBe(true);
    expect(statSync(path.dirname(kept)).mode & 0o077).toBe(0);
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) expect(readFileSync(path.join(entry.parentPath, entry.name), 'latin1')).not.toContain(kept);
    }
  });
});

test('a run that is stopped is recorded as stopped', async () => {
  const stop = new AbortController();
  const { result, folder } = await ran(
    intent({ commands: [node('console.log("begun"); setInterval(() => {}, 1e3)')] }),
    {
      signal: stop.signal,
      onOutput: () => stop.abort(),
    },
  );
  expect(result.decision).toMatchObject({
    accepted: false,
    reasons: ['commands[0] was stopped: the run was cancelled.'],
  });
  expect((read(folder, 'evidence/outcome.json') as IntentOutcome).ending).toMatchObject({
    how: 'killed',
    by: 'cancel',
  });
});

test('a sandbox that dies is a fault, and leaves evidence of a run that was not accepted', async () => {
  const cwd = temporaryFolder();
  let folder = '';
  const { pid } = await sharedLauncher();
  const told = await ran(
    intent({ commands: [node('console.log(1); setInterval(() => {}, 1e3)')], outputs: ['out/a'] }),
    {
      cwd,
      onFolder: place => {
        folder = place.folder;
      },
      onOutput: () => {
        for (const holder of processesOf(pid)) endProcess(holder.pid);
      },
    },
  )
    .catch(toldOf)
    .finally(closeLauncher);
  expect(told).toBe('RUN_E005: The sandbox died before its files could be read.');
  const result = read(folder, 'run.json') as RunResult;
  await expectSound({ folder, result });
  expect(result.decision.accepted).toBe(false);
});

describe('an interrupted run', () => {
  test.each(['plan-only', 'execute-sandbox'] as const)('in mode %s that had not started is removed', async mode => {
    const copy = path.join(temporaryFolder(), 'run');
    await ran(intent({ commands: [node('0')] }), {
      mode,
      onFolder: place => cpSync(place.folder, copy, { recursive: true }),
    });
    proveJournal(copy);
    expect(await recoverRun(copy, KINDS, { nowMs: Date.now() })).toBe('removed');
    expect(existsSync(copy)).toBe(false);
  });

  test('that stopped during a command is completed but not accepted', async () => {
    const copy = path.join(temporaryFolder(), 'run');
    let from = '';
    await ran(
      intent({
        files: [{ path: 'out/a', content: '' }],
        commands: [node('console.log(1); setTimeout(() => {}, 200)')],
        outputs: ['out/a'],
      }),
      {
        onFolder: place => {
          from = place.folder;
        },
        onOutput: () => {
          if (!existsSync(copy)) cpSync(from, copy, { recursive: true });
        },
      },
    );
    proveJournal(copy);
    expect(await recoverRun(copy, KINDS, { nowMs: Date.now() })).toBe('recovered');
    const result = read(copy, 'run.json') as RunResult;
    await expectSound({ folder: copy, result });
    expect(result).toMatchObject({ decision: { accepted: false }, execution: null });
    expect(read(copy, 'evidence/outcome.json')).toMatchObject({
      ending: { how: 'lost' },
      usage: { cpu_ms: null, memory_peak_bytes: null, forks_denied: null },
      recovered: { unknown: ['ending', 'usage', 'streams', 'output', 'checks'] },
    });
    expect(existsSync(path.join(copy, 'evidence/runner.json'))).toBe(false);
  });

  /** A copy of a run folder just before its seal, outside of any ledger. */
  const unsealed = ({ folder }: { readonly folder: string }): string => {
    const copy = path.join(temporaryFolder(), path.basename(folder));
    cpSync(folder, copy, { recursive: true });
    rmSync(path.join(copy, SEAL));
    return copy;
  };

  test.each([
    ['captured', 3, ['output', 'checks']],
    ['judged', 4, []],
  ])('after it was %s is not accepted without a seal', async (_, whole, unknown) => {
    const append = vi.spyOn(Journal.prototype, 'append');
    onTestFinished(() => append.mockRestore());
    const commands = [writes(`fs.writeFileSync('out/a', 'a')`)];
    const accept = [{ check: 'file_exists', path: 'out/a' }];
    const folder = unsealed(await ran(intent({ commands, outputs: ['out/a'], accept })));
    const lines = append.mock.calls.slice(0, whole).map(([line]) => line);
    await recoverFrom(folder, lines);
    const result = read(folder, 'run.json') as RunResult;
    await expectSound({ folder, result });
    expect(result).toMatchObject({ decision: { accepted: false, reasons: ['It was interrupted.'] }, execution: null });
    expect(read(folder, 'evidence/outcome.json')).toMatchObject({
      ending: { how: 'exited', code: 0 },
      checks: whole === 4 ? [{ check: 'file_exists', held: true }] : [],
      recovered: { unknown },
    });
    expect(read(folder, 'evidence/runner.json')).toMatchObject({ exit: { code: 0 } });
    expect(existsSync(path.join(folder, 'output'))).toBe(false);
  });

  test("after a command failed is rejected with that command's exit code", async () => {
    const append = vi.spyOn(Journal.prototype, 'append');
    onTestFinished(() => append.mockRestore());
    const folder = unsealed(await ran(intent({ commands: [node('process.exit(7)')] })));
    for (const whole of [3, 4]) {
      const lines = append.mock.calls.slice(0, whole).map(([line]) => line);
      await recoverFrom(folder, lines);
      const result = read(folder, 'run.json') as RunResult;
      await expectSound({ folder, result });
      expect(result).toMatchObject({ decision: { accepted: false }, execution: { exit_code: 7 } });
      rmSync(path.join(folder, SEAL));
    }
  });
});

test('the same intent gives the same canonical part, in JSON and YAML, planned or executed', async () => {
  const json = {
    goal: 'Try it',
    commands: [node('console.log(process.env.HOME, process.cwd(), new Date().getTimezoneOffset())')],
    context: { a: 1, b: [true, null] },
  };
  const yaml =
    `context: {b: [yes, ~], a: 1.0}\n# The same.\ncommands:\n  - argv: [node, -e, "${json.commands[0]?.argv[2]}"]\ngoal: >-\n  Try\n  it\n`.replace(
      'yes',
      'true',
    );
  for (const mode of ['plan-only', 'execute-sandbox'] as const) {
    const parts = new Set<string>();
    for (const [name, text] of [
      ['a.json', JSON.stringify(json)],
      ['a.json', JSON.stringify(json, null, 4)],
      ['a.yaml', yaml],
    ] as const) {
      const { result } = await ran(text, { mode, name, cwd: temporaryFolder() });
      parts.add(canonicalPart({ ...result, intent: { ...result.intent, path: 'a' } }));
    }
    expect(parts.size).toBe(1);
  }
});

test('a refused intent runs no command', async () => {
  const cwd = temporaryFolder();
  const { result } = await ran(intent({ commands: [{ argv: ['touch', 'mark'] }] }), { cwd });
  expect(result).toMatchObject({
    kernel_result_kind: 'REFUSE',
    bundle: null,
    execution: null,
    decision: { accepted: false },
  });
  expect(existsSync(path.join(cwd, 'mark'))).toBe(false);
});
