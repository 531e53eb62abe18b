import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import type { Evaluation } from '../../src/contracts/evaluation/index.ts';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import type { CheckAnswer } from '../../src/judge/suite/check.ts';
import { checkByScript } from '../../src/judge/suite/check-script.ts';
import { evaluateSuite } from '../../src/judge/suite/evaluate.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';
import { answered } from '../judge/suite/answers.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());

const CASE = { schema_version: 'suite-case.v1', id: 'one', input: { user: 'What is 2 and 2?' } } as const;

/** Returns the verdict of a script, and expects no leftovers. */
async function checked(
  code: string,
  { name = 'check.py', signal, timeoutMs }: { name?: string; signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<CheckAnswer> {
  const folder = temporaryFolder();
  const script = path.join(folder, name);
  if (code !== '') writeFileSync(script, code);
  const home = path.join(folder, '.proctor');
  const runCheck = checkByScript({ launcher: () => Promise.resolve(launcher), home, ...(signal && { signal }) });
  const before = temporary();
  const input = { case: CASE, artifact: answered({ total: 4 }) };
  const answer = await runCheck({ script, input, ...(timeoutMs !== undefined && { timeoutMs }) });
  const runs = path.join(home, 'runs', 'script');
  expect(existsSync(runs) ? readdirSync(runs) : []).toEqual([]);
  expect(temporary().filter(name => !before.includes(name))).toEqual([]);
  return answer;
}

const temporary = (): string[] =>
  readdirSync(tmpdir()).filter(name => name.startsWith(`proctor-check-${process.pid}-`));

const READ = `import json, sys
case = json.load(open('input/case.json'))
artifact = json.load(open('input/artifact.json'))
total = artifact['final_output']['content']['total']
`;
const result = (status: string, summary: string): string =>
  `json.dump(dict(contract_version=1, status='${status}', html_output='', error_summary=${summary}, artifacts=[]), open('result.json', 'w'))\n`;

test('the check in docs/suites.md accepts a right answer and rejects a wrong one', async () => {
  const page = readFileSync(path.join(ROOT, 'docs', 'suites.md'), 'utf8');
  const [, code = ''] = /### Check an answer with a script[^]*?```python\n([^]*?)```/.exec(page) ?? [];
  expect(await checked(code)).toEqual({ ok: true, message: '' });
  expect(await checked(code.replaceAll('4', '5'))).toEqual({ ok: false, message: 'The total for one is 4, not 5.' });
});

describe('a check in the sandbox', () => {
  const answers: [string, string, CheckAnswer][] = [
    ['that succeeds passes', `${READ}assert case['id'] == 'one' and total == 4\n`, { ok: true, message: '' }],
    [
      'that fails gives its last output as the reason',
      `${READ}assert total == 5, 'The total is %d.' % total\n`,
      { ok: false, message: 'AssertionError: The total is 4.' },
    ],
    [
      'that fails silently gives its exit code as the reason',
      'raise SystemExit(3)\n',
      { ok: false, message: 'The check ended with exit code 3.' },
    ],
    ['may write a result that passes', READ + result('succeeded', 'None'), { ok: true, message: '' }],
    [
      'may write a result that fails, and exit with 0',
      READ + result('failed', "'Two and two is not %d.' % total"),
      { ok: false, message: 'Two and two is not 4.' },
    ],
    [
      'that writes an invalid result has not answered',
      "open('result.json', 'w').write('{')\n",
      { trouble: 'The check produced an invalid result or output.' },
    ],
    [
      'that claims success and exits with an error fails',
      `${READ}${result('succeeded', 'None')}sys.exit('No good.')\n`,
      { ok: false, message: 'No good.' },
    ],
    [
      'that does not end in time has not answered',
      'while True: pass\n',
      { trouble: 'The check exceeded its time limit.' },
    ],
    [
      'that exceeds its memory limit has not answered',
      'a = []\nwhile True: a.append(bytearray(64 << 20))\n',
      { trouble: 'The check exceeded its memory limit.' },
    ],
    [
      'cannot use the network',
      "import socket\ntry:\n  socket.create_connection(('1.1.1.1', 53), 1)\nexcept OSError:\n  raise SystemExit(0)\nraise SystemExit('It got out.')\n",
      { ok: true, message: '' },
    ],
  ];
  test.each(answers)('%s', async (_, code, answer) => {
    expect(await checked(code, { timeoutMs: 10_000 })).toEqual(answer);
  });

  test('that is missing, a symlink, or of an unknown kind cannot run', async () => {
    expect(await checked('')).toEqual({ trouble: "The check is not among the run's files." });
    expect(await checked('x', { name: 'check.unknown' })).toEqual({
      trouble: expect.stringMatching(/^Proctor does not know which program runs/) as string,
    });
    const folder = temporaryFolder();
    symlinkSync('/etc/passwd', path.join(folder, 'check.py'));
    const runCheck = checkByScript({ launcher: () => Promise.reject(new Error('not needed')), home: folder });
    const input = { case: CASE, artifact: answered('') };
    expect(await runCheck({ script: path.join(folder, 'check.py'), input })).toEqual({
      trouble: "The check is not among the run's files.",
    });
  });

  test('with an invalid limit is reported as such', async () => {
    expect(await checked('', { timeoutMs: 1 })).toHaveProperty('trouble');
    expect(await checked('pass\n', { timeoutMs: 1 })).toEqual({
      trouble: 'The timeout must be from 1s to 10m.',
    });
  });

  test('is stopped with the evaluation', async () => {
    const stop = new AbortController();
    const answer = checked('import time\ntime.sleep(60)\n', { signal: stop.signal });
    setTimeout(() => stop.abort(), 500);
    expect(await answer).toEqual({ trouble: 'The check was cancelled.' });
  });

  test('is not started by a stopped evaluation', async () => {
    const signal = AbortSignal.abort();
    expect(await checked('pass\n', { signal })).toEqual({ trouble: 'The check was cancelled.' });
  });
});

test('a check script judges a suite the same way every time', async () => {
  const file = 'assets/check_0123456789abcdef.py';
  const lost = 'assets/check_fedcba9876543210.py';
  const cases = [
    {
      id: 'four',
      expected: { script: { file } },
      artifact: { final_output: { content_type: 'json', content: { total: 4 } } },
    },
    {
      id: 'five',
      expected: { script: { file }, max_steps: 0 },
      artifact: { final_output: { content_type: 'json', content: { total: 5 } } },
    },
    { id: 'lost', expected: { script: { file: lost } } },
  ] as const;
  const folder = await suiteFolder(temporaryFolder(), { cases });
  writeFileSync(path.join(folder, file), `${READ}sys.exit(None if total == 4 else 'The total is %d.' % total)\n`);
  const home = path.join(temporaryFolder(), '.proctor');
  mkdirSync(home);
  const evaluated = (): Promise<Evaluation> =>
    evaluateSuite(folder, {
      runCheck: checkByScript({ launcher: () => Promise.resolve(launcher), home }),
      clock: { now: () => 0 },
    });
  const evaluation = await evaluated();
  expect(
    evaluation.cases.map(({ verdict, error_class, assertions }) => [verdict, error_class, assertions.at(-1)?.message]),
  ).toEqual([
    ['pass', null, null],
    ['fail', null, 'The total is 5.'],
    ['error', 'other', "The check is not among the run's files."],
  ]);
  expect(canonicalize(await evaluated())).toBe(canonicalize(evaluation));
  rmSync(home, { recursive: true, force: true });
});
