import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { hostPathIn } from '../../src/base/path.ts';
import { check } from '../../src/contracts/check.ts';
import { builtInProfiles } from '../../src/contracts/profile/index.ts';
import { runError, type RunError } from '../../src/contracts/run-error/index.ts';
import { type RunResult, runResult } from '../../src/contracts/run-result/index.ts';
import { Place, takeAllPlaces, until } from '../support/runs.ts';
import { ROOT, type Ran } from '../support/support.ts';
import { node, writes } from '../run/intent/world.ts';

const place = new Place();
afterAll(() => {
  place.expectClean();
  place.remove();
});

const EXECUTE = ['--mode', 'execute-sandbox', '--policy', 'strict'];
const run = (...args: string[]): Ran => place.proctor(['run', 'intent', ...args]);
const given = (intent: unknown, name = 'intent.json'): string => {
  place.file(name, typeof intent === 'string' ? intent : JSON.stringify(intent));
  return name;
};

/** Exactly one canonical document. */
function resultIn({ stdout }: Ran): RunResult {
  const result = JSON.parse(stdout) as RunResult;
  expect(stdout).toBe(canonicalize(result));
  return result;
}

/** Stdout has only a valid run error, and no output reveals internals. */
function errorIn({ code, stdout, stderr }: Ran): RunError {
  const error = JSON.parse(stdout) as RunError;
  expect(stdout).toBe(canonicalize(error));
  expect(check(runError, error, { strict: true, internal: false }).violations).toEqual([]);
  expect(code).toBe(2);
  expect(hostPathIn(stdout + stderr)).toBeUndefined();
  expect(stdout + stderr).not.toMatch(/\n\s+at |node:internal|\.js:\d/);
  expect(stderr).toMatch(/^error: /);
  return error;
}

describe('proctor run intent', () => {
  test('only plans by default, exits with 0, and prints the result to stdout and a summary to stderr', () => {
    const answer = run(given({ goal: 'Say hello', commands: [node('0')] }));
    expect(resultIn(answer)).toMatchObject({
      kernel_result_kind: 'BUNDLE',
      execution: null,
      policy: builtInProfiles.default,
      intent: { path: 'intent.json' },
      decision: { accepted: true, reasons: ['The plan is complete: 0 files, 1 command, 0 outputs. Nothing was run.'] },
    });
    expect(answer.code).toBe(0);
    expect(answer.stderr).toMatch(/✓ BUNDLE {2}intent\.json {2}accepted, policy default/);
  });

  test('executes on request, exits with 0, or with 1 if a command fails, and prints only the result to stdout', () => {
    const good = run(given({ goal: 'g', commands: [node('console.log("to people")')] }), ...EXECUTE);
    expect(resultIn(good)).toMatchObject({ execution: { exit_code: 0 }, decision: { accepted: true } });
    expect([good.code, good.stderr.includes('to people')]).toEqual([0, true]);
    const bad = run(given({ goal: 'g', commands: [node('process.exit(3)')] }), ...EXECUTE);
    expect(resultIn(bad)).toMatchObject({ execution: { exit_code: 3 }, decision: { accepted: false } });
    expect([bad.code, bad.stderr.includes('✗ BUNDLE')]).toEqual([1, true]);
  });

  test('exits with 1 if it has a question, and executes once that is answered', () => {
    const open = run(given({ goal: 'Say <what>', commands: [node('0')] }), ...EXECUTE);
    const { clarify_questions: questions, execution } = resultIn(open);
    expect(questions).toEqual(['what: What should stand in place of <what> in goal?']);
    expect([open.code, execution]).toEqual([1, null]);
    place.file('answers.yaml', 'what: hello\n');
    expect(run('intent.json', '--answers', 'answers.yaml', ...EXECUTE).code).toBe(0);
  });

  test('exits with 1 if it refuses an intent, and runs nothing', () => {
    const mark = path.join(place.cwd, 'mark');
    const answer = run(
      given({ goal: 'g', commands: [node('console.log(1)'), { shell: `touch ${mark}` }] }),
      ...EXECUTE,
    );
    expect(resultIn(answer)).toMatchObject({ kernel_result_kind: 'REFUSE', bundle: null, execution: null });
    expect(answer.code).toBe(1);
    expect(answer.stderr).not.toMatch(/^1$/m);
    expect(readdirSync(place.cwd)).not.toContain('mark');
  });

  test('shows host paths only with --internal, and never stores them', () => {
    given({ goal: 'g', commands: [writes(`fs.writeFileSync('out/a', 'x')`)] });
    const kept = run('intent.json', '--keep-sandbox', ...EXECUTE);
    expect(kept.stdout).not.toContain('sandbox_path');
    const result = resultIn(run('intent.json', '--keep-sandbox', '--internal', ...EXECUTE));
    expect(readFileSync(path.join(result.sandbox_path ?? '', 'out/a'), 'utf8')).toBe('x');
    expect(check(runResult, result, { strict: true, internal: true }).violations).toEqual([]);
    for (const folder of place.runFolders()) {
      expect(readFileSync(path.join(folder, 'run.json'), 'utf8')).not.toContain('sandbox_path');
    }
  });

  test('copies its outputs to a new folder, and never overwrites one', () => {
    given({ goal: 'g', commands: [writes(`fs.writeFileSync('out/a', 'x')`)], outputs: ['out/a'] });
    expect(run('intent.json', '--copy-output', 'copied', ...EXECUTE).code).toBe(0);
    expect(readFileSync(path.join(place.cwd, 'copied/out/a'), 'utf8')).toBe('x');
    const before = place.runFolders().length;
    const again = run('intent.json', '--copy-output', 'copied', ...EXECUTE);
    expect([again.code, JSON.parse(again.stdout)]).toEqual([2, expect.objectContaining({ code: 'RUN_E007' })]);
    expect(place.runFolders()).toHaveLength(before);
  });

  test.each(['000', '077'])('gives commands the same umask and file modes under umask %s, every time', mask => {
    const other = new Place();
    try {
      const code = `console.log(process.umask(), ...['src', 'src/a', 'out', 'out/b'].map(file => fs.statSync(file).mode.toString(8)))`;
      const files = ['src/a', 'out/b'].map(file => ({ path: file, content: '' }));
      other.file('intent.json', JSON.stringify({ goal: 'g', files, commands: [writes(code)] }));
      const command = [
        process.execPath,
        path.join(ROOT, 'dist/proctor.js'),
        'run',
        'intent',
        'intent.json',
        ...EXECUTE,
      ];
      for (let time = 0; time < 2; time++) {
        const { status, stderr } = spawnSync('sh', ['-c', `umask ${mask}; exec "$@"`, 'sh', ...command], {
          cwd: other.cwd,
          encoding: 'utf8',
          timeout: 60_000,
        });
        expect(status, stderr).toBe(0);
        expect(stderr).toContain('18 40755 100644 40755 100644\n');
      }
    } finally {
      other.remove();
    }
  });

  test('prints no terminal control sequences', () => {
    const evil = '\u001b]0;evil\u0007\u009b31m\u202e';
    const { stderr } = run(
      given({
        goal: `${evil} <x>`,
        outputs: ['out/a'],
        accept: [{ check: 'file_exists', path: 'a' }],
        constraints: [`must ${evil}`, `must not ${evil}`],
        commands: [{ argv: [evil] }],
      }),
    );
    const shown = place.proctor(['show', 'latest']);
    expect(stderr + shown.stdout).not.toMatch(/[\u001b\u0007\u009b\u202e]/);
  });

  test('reads an intent from any path, and never reveals the path', () => {
    place.file('deep/er/intent.json', '{"goal":"g"}');
    for (const file of [
      'deep/er/intent.json',
      './deep/../deep/er/intent.json',
      path.join(place.cwd, 'deep/er/intent.json'),
    ]) {
      expect(resultIn(run(file)).intent.path).toBe('intent.json');
    }
    symlinkSync('deep/er/intent.json', path.join(place.cwd, 'link.json'));
    expect(resultIn(run('link.json')).intent.path).toBe('link.json');
  });

  test('can be cancelled while it waits for a slot: it prints a run error, exits with 130 and leaves no files', async () => {
    const free = await takeAllPlaces();
    try {
      const before = place.runFolders();
      given({ goal: 'g', commands: [node('0')] });
      const waiting = place.start(['run', 'intent', 'intent.json', ...EXECUTE]);
      await until('it reports that it waits', () => waiting.stderr.includes('waiting: '));
      waiting.kill('SIGINT');
      const { code, stdout } = await waiting.ended;
      expect([code, (JSON.parse(stdout) as RunError).message]).toEqual([
        130,
        'The run was cancelled before it started.',
      ]);
      expect(place.runFolders()).toEqual(before);
    } finally {
      free();
    }
  });
});

describe('RUN_E001 reports an intent that cannot be read:', () => {
  beforeAll(() => {
    mkdirSync(path.join(place.cwd, 'folder.json'), { recursive: true });
    execFileSync('mkfifo', [path.join(place.cwd, 'pipe.json')]);
  });

  test.each(['nowhere.json', 'folder.json', 'pipe.json', '/dev/zero', '/proc/self/mem', 'nowhere/\u001b[31m'])(
    '%s',
    file => {
      expect(errorIn(run(file)).code).toBe('RUN_E001');
    },
  );

  test('a file without read permission', context => {
    context.skip(process.getuid?.() !== 0, 'only root can become another user');
    chmodSync(place.file('secret.json', '{"goal":"g"}'), 0o600);
    chmodSync(place.cwd, 0o777);
    expect(errorIn(place.proctor(['run', 'intent', 'secret.json'], { uid: 65_534 })).code).toBe('RUN_E001');
  });
});

test.each<[string, string[], string, unknown]>([
  ['RUN_E002', [], 'is not a document', '{"goal":'],
  ['RUN_E003', [], 'breaks a rule', []],
  ['RUN_E003', [], 'has a key that is a host path', { goal: 'g', '/home/someone/x': 1 }],
  ['RUN_E004', ['--policy', '/home/someone/policy.json'], 'has a missing profile', { goal: 'g' }],
])('%s, with flags %j, reports an intent that %s', (code, args, _, intent) => {
  expect(errorIn(run(given(intent), ...args)).code).toBe(code);
});

describe('RUN_E005 reports a sandbox that does not start', () => {
  test.for([
    ['is missing', '/dev/null'],
    ['fails', '/bin/false'],
  ])('because bubblewrap %s', ([, instead], context) => {
    context.skip(process.getuid?.() !== 0, 'only root can put another program in its place');
    given({ goal: 'g', commands: [node('0')] });
    const before = place.runFolders();
    const script = `mount --bind ${instead} /usr/bin/bwrap && exec "$@"`;
    const command = [process.execPath, path.join(ROOT, 'dist/proctor.js'), 'run', 'intent', 'intent.json', ...EXECUTE];
    const { status, stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', ...command], {
      cwd: place.cwd,
      env: { ...process.env, NO_COLOR: '1', TMPDIR: place.temp },
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect(errorIn({ code: status, stdout, stderr }).code).toBe('RUN_E005');
    expect(place.runFolders()).toEqual(before);
  });
});

describe('the command line', () => {
  test('does not reproduce a changed folder', () => {
    const other = new Place();
    try {
      other.file('intent.json', '{"goal":"g"}');
      other.proctor(['run', 'intent', 'intent.json']);
      appendFileSync(path.join(other.runFolders()[0] ?? '', 'intent.json'), ' ');
      const { code, stderr, stdout } = other.proctor(['reproduce', 'latest', '--json']);
      expect([code, stderr]).toEqual([2, 'error: The run folder does not verify. Run proctor verify for details.\n']);
      expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'evidence_invalid' } });
    } finally {
      other.remove();
    }
  });

  test.each([
    [[]],
    [['intent.json', '--mode', 'x']],
    [['intent.json', '--bogus\u001b[31m']],
    [['a', 'b']],
    [['intent.json', '--recording', '/home/someone/x']],
  ])('reports wrong usage as RUN_E007: %j', args => {
    given({ goal: 'g' });
    expect(errorIn(run(...args))).toMatchObject({ code: 'RUN_E007', details: { reason: 'usage' } });
  });
});

describe('proctor reproduce', () => {
  test('confirms an identical result, and names the first difference in a different one', () => {
    run(given({ goal: 'g', commands: [node('console.log(1)')], outputs: [] }), ...EXECUTE);
    const same = place.proctor(['reproduce', 'latest']);
    expect([same.code, same.stdout.split('\n')[0]]).toEqual([
      0,
      '✓ identical  byte for byte, except for ids and times',
    ]);
    run(
      given({
        goal: 'g',
        commands: [writes(`fs.writeFileSync('out/a', String(process.hrtime.bigint()))`)],
        outputs: ['out/a'],
      }),
      ...EXECUTE,
    );
    const other = place.proctor(['reproduce', 'latest', '--json']);
    expect(other.code).toBe(1);
    expect(JSON.parse(other.stdout)).toMatchObject({ same: false, first: { path: 'execution.outputs[0].sha256' } });
  });

  test('also reproduces refusals and questions', () => {
    for (const intent of [{ goal: 'Say <x>' }, { goal: 'g', network: true }]) {
      run(given(intent));
      expect(place.proctor(['reproduce']).code).toBe(0);
    }
  });
});
