import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtInProfile } from '../../src/contracts/profile/index.ts';
import { outcomeIn, type Place, place, type Started, until } from '../support/runs.ts';
import { type Ran, ROOT } from '../support/support.ts';

const OK = `import proctor_tool\nproctor_tool.succeed('<p>done</p>')\n`;

/** Characters that move the cursor, set colours or reverse text. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}]/u;

/** The outcome of the newest run. */
function evidence(here: Place, file: string): Record<string, never> {
  const [folder = ''] = here.runFolders();
  return JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Record<string, never>;
}

/** One clear sentence, exit code 2, and no internal details. */
function expectRefusal({ code, stdout, stderr }: Ran, said: RegExp, what = ''): void {
  expect(code, `${what}\n${stdout}${stderr}`).toBe(2);
  expect(stdout, what).toBe('');
  expect(stderr, what).toMatch(said);
  expect(stderr, what).toMatch(/^error: [^\n]+\n(?:Add --help for usage\.\n)?$/);
  expect(stderr, what).not.toMatch(/internal error|\n\s+at |node:|[\\/](?:dist|tmp)[\\/]/);
}

describe('a new user', () => {
  test('runs the script from the docs and reads the result', () => {
    const here = place();
    const page = readFileSync(path.join(ROOT, 'docs', 'scripts.md'), 'utf8');
    here.file('report.py', /```python\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
    here.file('data.csv', 'name,amount\na,1\nb,\nc,3\n');
    const ran = here.proctor(['run', 'script', 'report.py', '--input', 'data.csv', '--', 'amount']);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toMatch(/✓ succeeded {2}report\.py {2}exit 0/);
    expect(ran.stderr).toContain(
      `  sandbox   process, strict: network blocked, files read-only (probed before the run)
  limits    60 s, 1 GiB, 256 processes, 1,000 files and 500 MiB of output
  output    1 file, `,
    );
    expect(ran.stderr).toMatch(/output {4}1 file, 1[0-9] B/);
    expect(readFileSync(path.join(here.runFolders()[0] ?? '', 'output', 'missing.csv'), 'utf8')).toMatch(/^b,/m);
    expect(here.proctor(['show']).stdout).toMatch(/✓ succeeded {2}report\.py amount\n/);
    expect(here.proctor(['list']).stdout).toMatch(/^succeeded .* script_\d{8}_\d{6}_[0-9a-f]{12} {2}report\.py\n$/);
    expect(here.proctor(['verify', 'latest']).code).toBe(0);
    expect(readFileSync(path.join(here.cwd, '.proctor', '.gitignore'), 'utf8')).toBe('*\n!/settings.json\n');
  });
});

describe('a script', () => {
  const LOOK = `import json, os, sys, proctor_tool
seen = {'args': sys.argv[1:], 'env': dict(os.environ), 'inputs': {name: open('input/' + name).read() for name in os.listdir('input')}}
json.dump(seen, open('output/seen.json', 'w'))
proctor_tool.succeed()`;

  test('gets its inputs, arguments and variables, and nothing else from the host', () => {
    const here = place();
    here.file('look.py', LOOK);
    here.file('a.txt', 'A');
    here.file('deep/b c.txt', 'B');
    const ran = here.proctor(
      [
        ...['run', 'script', 'look.py', '--input', 'a.txt', '--input', 'deep/b c.txt'],
        ...['--env', 'FROM_OUTSIDE', '--env', 'WITH=a=b', '--env', 'EMPTY=', '--copy-output', 'copied/here'],
        ...['--', '--timeout', "it's", '', '$HOME', '--', 'ü'],
      ],
      { env: { FROM_OUTSIDE: 'x y', NOT_FOR_SCRIPTS: 'hidden' } },
    );
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain('copied to copied/here');
    const seen = JSON.parse(readFileSync(path.join(here.cwd, 'copied/here/seen.json'), 'utf8'));
    expect(seen.args).toEqual(['--timeout', "it's", '', '$HOME', '--', 'ü']);
    expect(seen.inputs).toEqual({ 'a.txt': 'A', 'b c.txt': 'B' });
    expect(seen.env).toMatchObject({ FROM_OUTSIDE: 'x y', WITH: 'a=b', EMPTY: '', TZ: 'UTC' });
    const ours = ['HOME', 'LANG', 'PATH', 'PROCTOR_TOOL', 'PYTHONPATH', 'TZ'];
    const { LC_CTYPE: _, PWD: __, ...env } = seen.env;
    expect(Object.keys(env).sort()).toEqual([...ours, 'FROM_OUTSIDE', 'WITH', 'EMPTY'].sort());
    const request = evidence(here, 'evidence/request.json');
    expect(request).toMatchObject({
      args: seen.args,
      env_names: ['EMPTY', 'FROM_OUTSIDE', 'WITH'],
      inputs: [{ name: 'a.txt' }, { name: 'b c.txt' }],
    });
  });

  test('gets the same without a sandbox', () => {
    const here = place();
    here.file('look.py', LOOK);
    const ran = here.proctor(['run', 'script', 'look.py', '--sandbox', 'none', '--env', 'A=1', '--', 'x'], {
      env: { NOT_FOR_SCRIPTS: 'hidden' },
    });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain('none: no isolation');
    expect(readFileSync(path.join(here.runFolders()[0] ?? '', 'output/seen.json'), 'utf8')).not.toContain('hidden');
    expect(evidence(here, 'evidence/runner.json').sandbox).toMatchObject({ backend: 'none', isolation_level: 'none' });
  });

  test('that only defines run_tool is called by the helper', () => {
    const here = place();
    here.file('data.csv', 'a\nb\n');
    here.file(
      'tool.py',
      `def run_tool(input_dir, output_dir):
    lines = open(input_dir + '/data.csv').read().split()
    open(output_dir + '/count.txt', 'w').write(str(len(lines)))
    return {'html': '<p>%d rows</p>' % len(lines)}
`,
    );
    const ran = here.proctor(['run', 'script', 'tool.py', '--input', 'data.csv']);
    expect(ran.code, ran.stderr).toBe(0);
    expect(readFileSync(path.join(here.runFolders()[0] ?? '', 'output', 'count.txt'), 'utf8')).toBe('2');
    expect(evidence(here, 'result.json')).toMatchObject({
      status: 'succeeded',
      html_output: '<p>2 rows</p>',
      artifacts: [{ path: 'output/count.txt', bytes: 1 }],
    });
    expect(evidence(here, 'evidence/request.json')).toMatchObject({
      script: { name: 'tool.py' },
      interpreter: { name: expect.stringMatching(/^python3/) },
    });
  });

  test('can have its output copied to an existing folder only if that is empty', () => {
    const here = place();
    here.file('ok.py', `open('output/x', 'w').write('x')\n${OK}`);
    mkdirSync(path.join(here.cwd, 'empty'));
    expect(here.proctor(['run', 'script', 'ok.py', '--copy-output', 'empty']).code).toBe(0);
    expect(readdirSync(path.join(here.cwd, 'empty'))).toEqual(['x']);
    here.file('full/mine', 'mine');
    here.file('file', '');
    expectRefusal(here.proctor(['run', 'script', 'ok.py', '--copy-output', 'full']), /not empty/);
    expectRefusal(here.proctor(['run', 'script', 'ok.py', '--copy-output', 'file']), /not a folder/);
    expect(here.runFolders()).toHaveLength(1);
  });
});

describe('the output of a script', () => {
  test('is shown as it arrives, on two separate streams, without control characters', async () => {
    const here = place();
    here.file(
      'talk.py',
      `import sys, time, os
print('first', flush=True)
print('trouble', file=sys.stderr, flush=True)
time.sleep(1.5)
sys.stdout.buffer.write(b'\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\x9b2J half \\xe2\\x82')
sys.stdout.flush()
time.sleep(0.1)
sys.stdout.buffer.write(b'\\xac over\\rwritten\\ttab \\x00 \\xe2\\x80\\xae\\n')
sys.stdout.flush()
import proctor_tool
proctor_tool.fail('Bad \\x1b[31m things')`,
    );
    const started = here.start(['run', 'script', 'talk.py']);
    await until('the first line is shown', () => started.stdout.includes('first\n'));
    await until('the second line is shown', () => started.stderr.includes('trouble\n'));
    expect(started.isOver).toBe(false);
    const { code, stdout, stderr } = await started.ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(/^first\n/);
    expect(stdout).not.toContain('trouble');
    expect(stdout).toContain('half € over\nwritten\ttab');
    expect((stdout + stderr).replaceAll(/[\n\t]/g, '')).not.toMatch(UNPRINTABLE);
    expect(stderr).toMatch(/✗ failed {2}talk\.py/);
    const [folder = ''] = here.runFolders();
    // The stored output is unchanged.
    expect(readFileSync(path.join(folder, 'evidence/steps/script/stdout.txt'), 'latin1')).toContain('\u001b[31mred');
    for (const args of [['show'], ['show', '--json'], ['list']]) {
      expect(here.proctor(args).stdout.replaceAll('\n', '')).not.toMatch(UNPRINTABLE);
    }
  });

  test('goes to standard error with --json, and only the answer to standard output', () => {
    const here = place();
    here.file('say.py', `print('said')\nopen('output/a', 'w').write('abc')\n${OK}`);
    const { code, stdout, stderr } = here.proctor(['run', 'script', 'say.py', '--json']);
    expect(code).toBe(0);
    expect(stderr).toBe('said\n');
    expect(JSON.parse(stdout)).toEqual({
      kind: 'script',
      run_id: expect.stringMatching(/^script_\d{8}_\d{6}_[0-9a-f]{12}$/),
      folder: path.relative(here.cwd, here.runFolders()[0] ?? ''),
      status: 'succeeded',
      ending: { how: 'exited', code: 0 },
      reason: null,
      message: null,
      correlation_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      sandbox: { backend: 'process', isolation_level: 'strict', network_blocked: true, filesystem_readonly: true },
      limits: {
        timeout_ms: 60_000,
        idle_timeout_ms: null,
        max_memory_bytes: 1024 ** 3,
        max_output_files: 1_000,
        max_total_output_bytes: 500 * 1024 ** 2,
        open_files: 1_024,
        pids: 256,
      },
      limit_claims: expect.arrayContaining([{ limit: 'memory_bytes', value: 1024 ** 3, claim: 'enforced' }]),
      warnings: [],
      output: [{ path: 'output/a', bytes: 3, sha256: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) }],
      duration_ms: expect.any(Number),
      key_id: null,
    });
  });

  test("comes with exit code 0 only if the script's claim of success is true", async () => {
    const here = place();
    const claim = `{'contract_version': 1, 'status': 'succeeded', 'html_output': '', 'error_summary': None, 'artifacts': []}`;
    const ends: [string, string | null, RegExp][] = [
      [OK, null, /^$/],
      [`import proctor_tool\nproctor_tool.fail('No rows.')`, 'script_failed', /^No rows\.$/],
      [`print('x')`, 'result_missing', /did not produce a valid result/],
      [
        `import json, sys\njson.dump(${claim}, open('result.json', 'w'))\nsys.exit(3)`,
        'exit_code',
        /reported success, but it exited with an error/,
      ],
      [
        `import os\nos._exit(4)`,
        'result_missing',
        /^The script exited with an error before it wrote a result\. Reference: /,
      ],
      [`import os\nos.abort()`, 'result_missing', /./],
    ];
    const started = ends.map(([text], index) => {
      here.file(`${index}.py`, text);
      return here.start(['run', 'script', `${index}.py`, '--json']);
    });
    for (const [index, [text, reason, message]] of ends.entries()) {
      const { code, stdout } = await (started[index] as Started).ended;
      expect(code, text).toBe(reason === null ? 0 : 1);
      const answer = JSON.parse(stdout) as { status: string; reason: string; message: string | null };
      expect(answer, text).toMatchObject({ status: reason === null ? 'succeeded' : 'failed', reason });
      expect(answer.message ?? '', text).toMatch(message);
    }
  });
});

describe('a secret', () => {
  const SECRET = 'hünter2/ & p@ss?word+42';
  const forms = [SECRET, Buffer.from(SECRET).toString('base64').slice(0, 24), encodeURIComponent(SECRET)];
  const encoded = [Buffer.from(SECRET).toString('base64'), encodeURIComponent(SECRET)];

  test.each([
    ['succeeds', 'process', `proctor_tool.succeed('<p>' + value + '</p>' + ' '.join(forms))`],
    ['fails', 'none', `proctor_tool.fail('It failed with ' + value + ' and ' + ' '.join(forms))`],
  ])('appears nowhere when the script that received it %s', (_, sandbox, end) => {
    const here = place();
    here.file(
      'tell.py',
      `import base64, os, sys, time, urllib.parse, proctor_tool
value = os.environ['TOKEN']
forms = [value, base64.b64encode(value.encode()).decode(), urllib.parse.quote(value, safe="-_.!~*'()")]
for form in forms:
    print('out', form, flush=True)
    print('err', form, file=sys.stderr, flush=True)
for letter in value.encode():
    os.write(1, bytes([letter]))
    time.sleep(0.003)
print('', len(value))
assert sys.argv[1] == value
${end}`,
    );
    const ran = here.proctor(
      ['run', 'script', 'tell.py', '--sandbox', sandbox, '--secret', 'TOKEN', '--', SECRET, `x=${SECRET}`, ...encoded],
      { env: { TOKEN: SECRET } },
    );
    expect(ran.code, ran.stderr).toBe(end.includes('succeed') ? 0 : 1);
    expect(ran.stdout).toContain(`[masked] ${SECRET.length}\n`);
    const shown = [ran, here.proctor(['show']), here.proctor(['show', '--json'])].map(
      ({ stdout, stderr }) => stdout + stderr,
    );
    const stored = readdirSync(path.join(here.cwd, '.proctor'), { recursive: true, encoding: 'utf8' })
      .map(file => path.join(here.cwd, '.proctor', file))
      .filter(file => lstatSync(file).isFile())
      .map(file => ({ file, text: readFileSync(file, 'utf8') }));
    for (const form of forms) {
      for (const text of shown) expect(text).not.toContain(form);
      expect(
        stored.filter(({ text }) => text.includes(form)).map(({ file }) => file),
        form,
      ).toEqual([]);
    }
    expect(evidence(here, 'evidence/request.json')).toMatchObject({ secret_names: ['TOKEN'] });
  });

  const names: [string, string][] = [
    ['a file', `open('output/' + value + '.csv', 'w').write('x')`],
    ['a folder', `os.makedirs('output/a/' + value)\nopen('output/a/' + value + '/b.csv', 'w').write('x')`],
    [
      'a file (in base64)',
      `import base64\nopen('output/' + base64.b64encode(value.encode()).decode(), 'w').write('x')`,
    ],
  ];
  test.each(names)('in the name of %s in the output ends the run, and appears nowhere', (_, write) => {
    const here = place();
    const value = 'correct-horse-battery-9';
    here.file(
      'name.py',
      `import os, proctor_tool\nvalue = os.environ['TOKEN']\nopen('output/good.txt', 'w').write('x')\n${write}\nproctor_tool.succeed()\n`,
    );
    const ran = here.proctor(['run', 'script', 'name.py', '--secret', 'TOKEN'], { env: { TOKEN: value } });
    expect(ran.code, ran.stderr).toBe(1);
    const [folder = ''] = here.runFolders();
    expect(outcomeIn(folder)).toMatchObject({ status: 'failed', reason: 'artifact_name_invalid' });
    expect(evidence(here, 'result.json')).toMatchObject({ status: 'failed', artifacts: [] });
    expect(existsSync(path.join(folder, 'output', 'good.txt'))).toBe(false);
    const shown = [
      ran,
      ...[['show'], ['show', '--internal'], ['show', '--json', '--internal']].map(args => here.proctor(args)),
    ];
    const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(entries).toContain('evidence/internal/quarantine/index.json');
    const texts = entries
      .map(entry => path.join(folder, entry))
      .filter(file => lstatSync(file).isFile())
      .map(file => readFileSync(file, 'utf8'));
    for (const form of [value, Buffer.from(value).toString('base64')]) {
      for (const text of [...entries, ...texts, ...shown.map(({ stdout, stderr }) => stdout + stderr)]) {
        expect(text).not.toContain(form);
      }
    }
  });
});

describe('limits', () => {
  const STRICT = { backend: 'process', isolation_level: 'strict', network_blocked: true, filesystem_readonly: true };
  const asked: [string[], object][] = [
    [
      ['--profile', 'strict', '--timeout', '9m'],
      {
        sandbox: STRICT,
        limits: { timeout_ms: 30_000 },
        warnings: [
          'profile strict: its allowed commands and write roots do not apply to scripts',
          'timeout: requested 540000, but profile strict allows 30000',
        ],
      },
    ],
    [['--profile', 'default', '--timeout', '9m'], { sandbox: STRICT, limits: { timeout_ms: 60_000 } }],
    [['--profile', 'dev', '--timeout', '9m'], { sandbox: STRICT, limits: { timeout_ms: 300_000 } }],
    [['--profile', 'dev', '--timeout', '2s'], { sandbox: STRICT, limits: { timeout_ms: 2_000 } }],
    [['--isolation', 'strict'], { sandbox: STRICT }],
    [['--isolation', 'standard', '--sandbox', 'process'], { sandbox: STRICT }],
    [['--isolation', 'none'], { sandbox: { backend: 'none', isolation_level: 'none', network_blocked: false } }],
  ];

  test('are as requested, or tighter', async () => {
    const here = place();
    here.file('ok.py', OK);
    const started = asked.map(([flags]) => here.start(['run', 'script', 'ok.py', '--json', ...flags]));
    for (const [index, [flags, expected]] of asked.entries()) {
      const { code, stdout, stderr } = await (started[index] as Started).ended;
      expect(code, flags.join(' ') + stderr).toBe(0);
      const { folder } = JSON.parse(stdout) as { folder: string };
      const record = JSON.parse(readFileSync(path.join(here.cwd, folder, 'evidence/runner.json'), 'utf8'));
      expect(record, flags.join(' ')).toMatchObject(expected);
    }
  });

  test('come from a custom profile; a broken, missing or irregular one is refused', async () => {
    const here = place();
    here.file('ok.py', OK);
    const mine = { ...builtInProfile('strict'), name: 'mine', timeout_ms: 5_000 };
    here.file('mine.json', JSON.stringify(mine));
    here.file('broken.json', '{"name":');
    here.file('wrong.json', JSON.stringify({ ...mine, timeout_ms: 'long' }));
    here.file('false.json', JSON.stringify({ ...mine, name: 'strict' }));
    const run = (profile: string): Ran => here.proctor(['run', 'script', 'ok.py', '--profile', profile]);
    expectRefusal(run('missing.json'), /There is no such profile/);
    expectRefusal(run('broken.json'), /not a valid JSON document/);
    expectRefusal(run('wrong.json'), /breaks a rule: \w+:/);
    expectRefusal(run('false.json'), /breaks a rule|built-in/);
    expectRefusal(run('.'), /not a regular file/);
    expect(existsSync(path.join(here.cwd, '.proctor'))).toBe(false);
    expect(run('mine.json').code).toBe(0);
    expect(evidence(here, 'evidence/runner.json')).toMatchObject({ limits: { timeout_ms: 5_000 } });
  });

  const EATER = `import time\nkept = []\nwhile True: kept.append(b'x' * 4_000_000)`;
  const FILES = `for name in 'abc': open('output/' + name, 'w').write('x' * 1000)\n${OK}`;
  const limits: [string, string[], string, object][] = [
    ['time', ['--timeout', '1s'], `import time\ntime.sleep(30)`, { status: 'timed_out', reason: 'wall_timeout' }],
    ['silence', ['--idle-timeout', '300ms'], `import time\ntime.sleep(30)`, { reason: 'idle_timeout' }],
    [
      'memory',
      ['--memory', '64m'],
      EATER,
      { status: 'failed', reason: 'oom_killed', ending: { how: 'out_of_memory' } },
    ],
    ['CPU time', ['--cpu-seconds', '1'], 'while True: pass', { status: 'timed_out', reason: 'cpu_timeout' }],
    [
      'processes',
      ['--pids', '5'],
      `import os, time, proctor_tool\ncount = 0\ntry:\n  for _ in range(50):\n    if os.fork() == 0: time.sleep(30)\n    count += 1\nexcept OSError: proctor_tool.fail(f'Only {count}.')`,
      { reason: 'script_failed', message: 'Only 4.' },
    ],
    ['files', ['--max-files', '2'], FILES, { status: 'failed', reason: 'artifact_limit_count' }],
    ['bytes', ['--max-bytes', '2k'], FILES, { status: 'failed', reason: 'artifact_limit_total' }],
  ];

  test('are enforced, and the exceeded one is named', async () => {
    const here = place();
    const started = limits.map(([what, flags, text]) => {
      const name = `${what.replace(' ', '-')}.py`;
      here.file(name, text);
      return here.start(['run', 'script', name, '--json', ...flags]);
    });
    for (const [index, { ended }] of started.entries()) {
      const { code, stdout, stderr } = await ended;
      const [what, , , expected] = limits[index] as (typeof limits)[number];
      expect(code, `${what}: ${stdout}${stderr}`).toBe(1);
      expect(JSON.parse(stdout), what).toMatchObject(expected);
    }
    expect(here.runFolders()).toHaveLength(limits.length);
  });
});

describe('a request that cannot run', () => {
  const wrong: [string[], RegExp][] = [
    [['nope.py'], /nope\.py does not exist/],
    [['folder.py'], /is a folder/],
    [['no-exec'], /not executable/],
    [['plain'], /does not know which program runs plain/],
    [['empty'], /does not know which program runs empty/],
    [['unknown-interpreter'], /requires ruby99, which is not installed/],
    [['hidden-interpreter'], /requires tool, which is not installed/],
    [['result.json'], /cannot be named/],
    [['fifo.py'], /not a regular file/],
    [['ok.py', '--input', 'missing.csv'], /input missing\.csv does not exist/],
    [['ok.py', '--input', 'link.csv'], /is a symlink/],
    [['ok.py', '--input', 'folder.py'], /The input folder\.py is a folder\. Pass its files, or an archive\./],
    [['ok.py', '--input', 'fifo.py'], /not a regular file/],
    [['ok.py', '--input', 'large'], /too large/],
    [['ok.py', '--input', 'a.csv', '--input', 'other/A.csv'], /Two inputs are named A\.csv/],
    [['ok.py', '--timeout', '999ms'], /timeout must be from 1s to 10m/],
    [['ok.py', '--timeout', '601s'], /timeout must be/],
    [['ok.py', '--timeout', 'soon'], /a time such as/],
    [['ok.py', '--idle-timeout', '99ms'], /idle timeout must be/],
    [['ok.py', '--memory', '15m'], /memory limit must be/],
    [['ok.py', '--memory', '-1'], /a size such as/],
    [['ok.py', '--cpu-seconds', '0'], /CPU time must be/],
    [['ok.py', '--pids', '0'], /processes must be/],
    [['ok.py', '--pids', '1.5'], /an integer/],
    [['ok.py', '--max-files', '10001'], /output files must be/],
    [['ok.py', '--max-bytes', '1023'], /output limit must be/],
    [['ok.py', '--sandbox', 'vm'], /Allowed choices/],
    [['ok.py', '--isolation', 'most'], /Allowed choices/],
    [['ok.py', '--frobnicate'], /unknown option/],
    [[], /missing required argument/],
    [['ok.py', '--env', 'NOT_SET_ANYWHERE'], /NOT_SET_ANYWHERE is not set/],
    [['ok.py', '--env', '1X=1'], /not a valid variable name/],
    [['ok.py', '--env', 'PATH=/bin'], /Proctor sets the variable PATH itself/],
    [['ok.py', '--env', 'AWS_KEY=1'], /reserved for credentials/],
    [['ok.py', '--secret', 'TOKEN=value'], /Pass only the name, --secret TOKEN/],
    [['ok.py', '--secret', 'NOT_SET_ANYWHERE'], /is not set/],
    [['ok.py', '--sandbox', 'none', '--isolation', 'strict'], /cannot enforce isolation "strict"/],
    [['ok.py', '--sandbox', 'none', '--profile', 'default'], /a blocked network/],
    [['ok.py', '--sandbox', 'none', '--memory', '64m'], /a limit on memory/],
    [['ok.py', '--sandbox', 'none', '--pids', '9'], /a limit on processes/],
    [['ok.py', '--sandbox', 'none', '--cpu-seconds', '9'], /a limit on CPU time/],
    [['ok.py', '--sandbox', 'process', '--isolation', 'none'], /Remove --sandbox process/],
  ];

  test('is refused in one sentence and leaves nothing', async () => {
    const here = place();
    here.file('ok.py', OK);
    here.file('plain', 'echo hi\n', 0o755);
    here.file('empty', '', 0o755);
    here.file('no-exec', '#!/bin/sh\n');
    here.file('unknown-interpreter', '#!/usr/bin/env ruby99\n', 0o755);
    here.file('hidden-interpreter', '#!/opt/vendor/tool\n', 0o755);
    here.file('result.json', '#!/bin/sh\n', 0o755);
    here.file('a.csv', '');
    here.file('other/A.csv', '');
    truncateSync(here.file('large', ''), 1024 ** 3 + 1);
    mkdirSync(path.join(here.cwd, 'folder.py'));
    symlinkSync('a.csv', path.join(here.cwd, 'link.csv'));
    spawnSync('mkfifo', [path.join(here.cwd, 'fifo.py')]);
    const pending = wrong.entries();
    const some = async (): Promise<void> => {
      for (const [, [args, said]] of pending) {
        expectRefusal(await here.start(['run', 'script', ...args]).ended, said, args.join(' '));
      }
    };
    await Promise.all([some(), some(), some()]);
    expect(existsSync(path.join(here.cwd, '.proctor'))).toBe(false);
  });

  test('is refused as JSON with --json', () => {
    const here = place();
    here.file('ok.py', OK);
    const faults: [string[], string, string][] = [
      [['run', 'script', 'nope.py'], 'usage', 'The script nope.py does not exist.'],
      [['run', 'script', 'ok.py', '--pids', '0'], 'out_of_bounds', 'The number of processes must be from 1 to 100000.'],
      [['show', 'no\u001b[31m'], 'no_run', 'There is no run "no\\u{1b}[31m". `proctor list` shows all runs.'],
      [
        ['show'],
        'no_run',
        'There are no runs yet. Create one with `proctor run script FILE`, `proctor run intent FILE` or `proctor run suite CASES`.',
      ],
    ];
    for (const [args, code, message] of faults) {
      const ran = here.proctor([...args, '--json']);
      expect(ran, args.join(' ')).toEqual({
        code: 2,
        stdout: `${JSON.stringify({ ok: false, error: { code, message } })}\n`,
        stderr: `error: ${message}\n`,
      });
      expect(here.proctor(args), args.join(' ')).toEqual({ ...ran, stdout: '' });
    }
    expect(existsSync(path.join(here.cwd, '.proctor'))).toBe(false);
  });

  test('for the strict profile is refused without control groups, and the message names what is missing', () => {
    const here = place();
    here.file('ok.py', OK);
    chmodSync(here.cwd, 0o777);
    const nobody = { uid: 65_534 };
    expectRefusal(
      here.proctor(['run', 'script', 'ok.py', '--isolation', 'strict'], nobody),
      /Cannot enforce strict isolation here: there are no memory limits for a whole run, which require control groups\. Run proctor doctor to see how to fix it, or remove --isolation strict\./,
    );
    expectRefusal(
      here.proctor(['run', 'script', 'ok.py', '--profile', 'strict'], nobody),
      /Cannot enforce strict isolation here: .*, or remove --profile strict\./,
    );
    expect(existsSync(path.join(here.cwd, '.proctor'))).toBe(false);
    const ran = here.proctor(['run', 'script', 'ok.py'], nobody);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain('warning   standard, not strict: there are no memory limits for a whole run, which');
    chmodSync(here.file('unreadable.py', OK), 0o000);
    expectRefusal(here.proctor(['run', 'script', 'unreadable.py'], nobody), /cannot be read/);
    expectRefusal(here.proctor(['run', 'script', 'ok.py', '--input', 'unreadable.py'], nobody), /unreadable\.py/);
    expect(here.runFolders()).toHaveLength(1);
  });
});

describe('unusual folders and scripts', () => {
  test('a folder that the user cannot write to is refused', () => {
    const here = place();
    here.file('ok.py', OK);
    expectRefusal(here.proctor(['run', 'script', 'ok.py'], { uid: 65_534 }), /could not be created/);
  });

  test('a deleted folder is refused', () => {
    const here = place();
    const script = here.file('ok.py', OK);
    mkdirSync(path.join(here.cwd, 'gone'));
    const bin = path.join(ROOT, 'dist', 'proctor.js');
    for (const command of [`run script ${script}`, 'list', 'show', 'recover', 'verify latest']) {
      mkdirSync(path.join(here.cwd, 'gone'), { recursive: true });
      const { status, stdout, stderr } = spawnSync(
        '/bin/sh',
        ['-c', `rmdir "$PWD" && exec ${process.execPath} ${bin} ${command}`],
        { cwd: path.join(here.cwd, 'gone'), encoding: 'utf8', env: { ...process.env, TMPDIR: here.temp } },
      );
      expectRefusal({ code: status, stdout, stderr }, /no longer exists/, command);
    }
  });

  test.each([
    [
      'a link to a folder is used',
      (at: string) => (mkdirSync(`${at}-elsewhere`), symlinkSync(`${at}-elsewhere`, at)),
      0,
    ],
    ['a link to nowhere is refused', (at: string) => symlinkSync('/nonexistent/folder', at), 2],
  ] as const)('a .proctor that is %s', (_, make, code) => {
    const here = place();
    here.file('ok.py', OK);
    make(path.join(here.cwd, '.proctor'));
    const ran = here.proctor(['run', 'script', 'ok.py']);
    if (code === 2) expectRefusal(ran, /must belong to you|could not be created/);
    else expect(ran.code, ran.stderr).toBe(0);
    expect(here.runFolders()).toHaveLength(code === 0 ? 1 : 0);
  });

  test('a .proctor that is a file is refused', () => {
    const here = place();
    here.file('ok.py', OK);
    here.file('.proctor', 'mine');
    expectRefusal(here.proctor(['run', 'script', 'ok.py']), /must belong to you|could not be created/);
    expect(here.proctor(['list']).stdout).toMatch(/^No runs yet/);
  });

  test('a corrupt sandbox cache is not trusted', () => {
    const here = place();
    here.file('ok.py', OK);
    expect(here.proctor(['run', 'script', 'ok.py']).code).toBe(0);
    const [name = ''] = readdirSync(path.join(here.cwd, '.proctor', 'cache'));
    for (const text of ['{"a":', '[{"what":"network","held":false,"note":""}]']) {
      here.file(`.proctor/cache/${name}`, text);
      const ran = here.proctor(['run', 'script', 'ok.py']);
      expect(ran.code, ran.stderr).toBe(0);
      expect(ran.stderr).toContain(
        '  sandbox   process, strict: network blocked, files read-only (probed before the run)\n',
      );
    }
  });

  test('a name of 255 bytes and a CRLF first line work; an empty script has no result', () => {
    const here = place();
    const long = `${'n'.repeat(252)}.py`;
    here.file(long, OK);
    here.file('crlf', `#!/usr/bin/env python3\r\n${OK.replaceAll('\n', '\r\n')}`, 0o755);
    here.file('empty.sh', '');
    expect(here.proctor(['run', 'script', long]).code).toBe(0);
    expect(here.proctor(['run', 'script', 'crlf']).code).toBe(0);
    const empty = here.proctor(['run', 'script', 'empty.sh']);
    expect(empty.code).toBe(1);
    expect(empty.stderr).toContain('hint      A script must write result.json');
    const reasons = here.runFolders().map(folder => outcomeIn(folder).reason);
    expect(reasons.filter(reason => reason !== null)).toEqual(['result_missing']);
  });
});
