import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { proctor, ROOT, temporaryFolder } from '../support/support.ts';

function folderWith(files: Readonly<Record<string, string>>): string {
  const cwd = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true });
    writeFileSync(path.join(cwd, name), text);
  }
  return cwd;
}

/** A CSV table in which the given cases fail in every trial. */
function table(cases: number, trials: number, failing: readonly number[] = []): string {
  const rows = Array.from({ length: cases * trials }, (_, at) => {
    const one = at % cases;
    return `case-${one},${Math.floor(at / cases)},${failing.includes(one) ? 0 : 1}`;
  });
  return `case,trial,pass\n${rows.join('\n')}\n`;
}

function junit(cases: number, failing: readonly number[] = [], skipped: readonly number[] = []): string {
  const all = Array.from({ length: cases }, (_, at) => {
    const body = failing.includes(at) ? '<failure/>' : skipped.includes(at) ? '<skipped/>' : '';
    return `<testcase classname="pay" name="case ${at}" time="0.0${at + 1}">${body}</testcase>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="s">${all.join('\n')}</testsuite></testsuites>\n`;
}

function ctrf(cases: number, failing: readonly number[] = []): string {
  const tests = Array.from({ length: cases }, (_, at) => ({
    name: `case ${at}`,
    suite: 'pay',
    status: failing.includes(at) ? 'failed' : 'passed',
    duration: at,
  }));
  return JSON.stringify({ reportFormat: 'CTRF', specVersion: '1.0.0', results: { tool: { name: 't' }, tests } });
}

const gate = (cwd: string, ...words: string[]) => proctor(['gate', ...words], { cwd });

test('prints counts and what is ruled out, then the verdict and what would settle it', () => {
  const cwd = folderWith({ 'before.csv': table(30, 1), 'after.csv': table(30, 1, [7]) });
  const { code, stdout } = gate(cwd, 'before.csv', 'after.csv');
  expect(code).toBe(3);
  expect(stdout).toBe(
    [
      '  suspect    case-7  1/1 → 0/1  (p = 0.25 if nothing changed)',
      '  measured   30 cases pass 3.3 points less often than before (p = 0.25 if nothing changed)',
      '  ruled out  a drop of more than 10.1 points, with 95 % confidence',
      '  baseline   30 trials of 30 cases (before.csv, CSV)',
      '  new        30 trials of 30 cases (after.csv, CSV)',
      '',
      '? Not enough evidence  1 of 30 cases looks broken, and could still be chance: “case-7” (1/1 → 0/1). Ask it again on both sides, up to 6 times.',
      '  to settle  one more trial of case-7 on both sides, marked as rerun',
      '',
    ].join('\n'),
  );
});

test('exits with 0, 1 and 3 for no regression, a regression and not enough evidence', () => {
  const cwd = folderWith({
    'before.csv': table(30, 6),
    'same.csv': table(30, 6),
    'broken.csv': table(30, 6, [7]),
    'once.csv': table(10, 1),
    'again.csv': table(10, 1),
  });
  expect(gate(cwd, 'before.csv', 'same.csv')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^✓ No regression {2}/m),
  });
  const broken = gate(cwd, 'before.csv', 'broken.csv');
  expect(broken).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^✗ Regression {2}1 of 30 cases broke, beyond chance: “case-7” \(6\/6 → 0\/6\)\./m),
  });
  expect(broken.stdout).toContain('  broken     case-7  6/6 → 0/6  (p < 0.001 if nothing changed)\n');
  expect(gate(cwd, 'once.csv', 'again.csv').code).toBe(0);
  const proven = gate(cwd, 'once.csv', 'again.csv', '--gate', 'proven');
  expect(proven).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/\n {2}to settle {2}about \d+ more trials per case on both sides\n/),
  });
});

test('reads one JUnit or CTRF file per trial, from folders and lists', () => {
  const before = Object.fromEntries(
    [1, 2, 3, 4, 5, 6].map(trial => [`before/${trial}.xml`, junit(9) + '\n'.repeat(trial)]),
  );
  const after = Object.fromEntries(
    [1, 2, 3, 4, 5, 6].map(trial => [`after/${trial}.json`, ctrf(9, [4]) + '\n'.repeat(trial)]),
  );
  const cwd = folderWith({ ...before, ...after, 'after/notes.txt': 'not a result' });
  const found = gate(cwd, 'before', 'after/', '--json');
  expect(found.code).toBe(1);
  expect(JSON.parse(found.stdout)).toMatchObject({
    verdict: 'regression',
    exit_code: 1,
    decision: {
      broken: [{ case_id: 'pay > case 4', baseline: { passes: 6, trials: 6 }, new: { passes: 0, trials: 6 } }],
    },
    sides: { baseline: { cases: 9, trials: 54 }, new: { cases: 9, trials: 54, files: { length: 6 } } },
    notes: [],
  });
  expect(JSON.parse(gate(cwd, 'before/1.xml,before/2.xml', 'after/1.json', '--json').stdout)).toMatchObject({
    sides: { baseline: { trials: 18 }, new: { trials: 9 } },
  });
});

test('does not count trials from a copy of another file', () => {
  const copies = Object.fromEntries([1, 2, 3, 4, 5, 6].map(trial => [`after/${trial}.xml`, junit(9)]));
  const cwd = folderWith({ 'before/1.xml': junit(9), ...copies, 'after/7.xml': junit(9, [4]) });
  const { stdout } = gate(cwd, 'before', 'after', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    sides: { baseline: { trials: 9 }, new: { cases: 9, trials: 18, files: { length: 7 } } },
    notes: ['5 files of the candidate are copies of another file. Copies do not count as trials.'],
  });
});

test('counts files named *.rerun.* only for the cases in them', () => {
  const timed = (at: number, body: string): string =>
    `<testsuite><testcase classname="pay" name="case 4" time="0.${at}">${body}</testcase></testsuite>`;
  const reruns = [1, 2, 3, 4, 5].flatMap(at => [
    [`before/${at}.rerun.xml`, timed(at, '')],
    [`after/${at}.rerun.xml`, timed(at, '<error/>')],
  ]);
  const cwd = folderWith({ 'before/0.xml': junit(40), 'after/0.xml': junit(40, [4]), ...Object.fromEntries(reruns) });
  const { code, stdout } = gate(cwd, 'before', 'after');
  expect(code).toBe(1);
  expect(stdout).toContain('pay > case 4  6/6 → 0/6');
  expect(stdout).toContain('40 cases pass 2.5 points less often');
});

test('does not pass a newly skipped test unless --allow-removed is given', () => {
  const cwd = folderWith({ 'before.xml': junit(10), 'after.xml': junit(10, [], [3]) });
  const closed = gate(cwd, 'before.xml', 'after.xml');
  expect(closed.code).toBe(3);
  expect(closed.stdout).toContain('  skipped    pay > case 3\n');
  expect(gate(cwd, 'before.xml', 'after.xml', '--allow-removed').code).toBe(0);
  expect(gate(cwd, 'before.xml', 'after.xml', '--allow-removed', '--critical', 'pay > case 3').code).toBe(3);
});

test('applies the tolerances of a gate file, and prefers flags to the file', () => {
  const rows = (latency: number): string =>
    Array.from({ length: 8 }, (_, at) => JSON.stringify({ case: `c${at}`, pass: true, latency_ms: latency + at })).join(
      '\n',
    );
  const cwd = folderWith({
    'before.jsonl': rows(100),
    'after.jsonl': rows(160),
    'gate.yaml':
      'schema_version: gate.v1\nmode: proven\nmargin: 0.4\ntolerances:\n  latency_ms: { statistic: mean, max_increase_ratio: 0.2 }\n',
    'wide.yaml': 'schema_version: gate.v1\nmode: proven\nmargin: 0.4\n',
  });
  const slow = gate(cwd, 'before.jsonl', 'after.jsonl', '--gate', 'gate.yaml');
  expect(slow).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^✗ Regression {2}Latency is 58 % higher than before; at most 20 % is allowed\.\n/m),
  });
  expect(gate(cwd, 'before.jsonl', 'after.jsonl', '--gate', 'wide.yaml').code).toBe(0);
  expect(gate(cwd, 'before.jsonl', 'after.jsonl', '--gate', 'wide.yaml', '--margin', '0.05').code).toBe(3);
});

test('names one case from each side if no names match', () => {
  const cwd = folderWith({ 'before.csv': 'case,pass\na,1\n', 'after.csv': 'case,pass\n"b\u001b[2J",1\n' });
  const { code, stdout } = gate(cwd, 'before.csv', 'after.csv');
  expect(code).toBe(3);
  expect(stdout).toContain('The baseline starts with "a", the new results with "b\\u{1b}[2J".');
  expect(stdout).not.toContain('\u001b');
});

test.each([
  [['before.csv', 'before.csv'], 'The same file is on both sides. Specify different results.'],
  [['before.csv', 'link.csv'], 'The same file is on both sides. Specify different results.'],
  [['before.csv,before.csv', 'bad.csv'], 'before.csv appears twice on one side.'],
  [['before.csv', 'nothing.csv'], 'There is no file or folder nothing.csv.'],
  [['before.csv', 'empty'], 'The folder empty contains no .xml, .json, .jsonl, .ndjson, .csv file.'],
  [
    ['before.csv', 'bad.csv'],
    'bad.csv, line 3: pass must be 0, 1, true, false, pass, fail, passed, failed, error, skipped or empty.',
  ],
  [['before.csv', 'pipe.csv'], 'Cannot read pipe.csv: it is not a file of at most 64 MiB.'],
  [['before.csv', 'large.csv'], 'Cannot read large.csv: it is not a file of at most 64 MiB.'],
  [['before.csv', 'lol.xml'], 'lol.xml, line 2: Document types and custom entities are not supported.'],
  [
    ['before.csv', 'after.csv', '--gate', 'nothing.yaml'],
    'Cannot read the gate file "nothing.yaml", or it is larger than 1 MiB. Only proctor compare and proctor gate accept a mode (balanced, proven, strict).',
  ],
  [
    ['before.csv', 'after.csv', '--critical', 'case-11'],
    'The critical case "case-11" is missing from the results of both sides. Did you mean "case-1"?',
  ],
  [['before.csv', 'after.csv', '--looks', '6'], 'looks must be an integer from 1 to 5.'],
])('rejects %j with exit code 2', (words, says) => {
  const lol =
    '<?xml version="1.0"?>\n<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]>\n<testsuite name="&lol2;"/>';
  const files = {
    'before.csv': table(9, 1),
    'after.csv': table(9, 2),
    'bad.csv': 'case,pass\na,1\nb,s3cret\n',
    'lol.xml': lol,
  };
  const cwd = folderWith(files);
  mkdirSync(path.join(cwd, 'empty'));
  execFileSync('mkfifo', [path.join(cwd, 'pipe.csv')]);
  writeFileSync(path.join(cwd, 'large.csv'), '');
  truncateSync(path.join(cwd, 'large.csv'), 64 * 1024 * 1024 + 1);
  symlinkSync('before.csv', path.join(cwd, 'link.csv'));
  const { code, stdout, stderr } = gate(cwd, ...words);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `error: ${says}\n` });
  expect(JSON.parse(gate(cwd, ...words, '--json').stdout)).toMatchObject({ ok: false, error: { message: says } });
});

test('writes no files', () => {
  const cwd = folderWith({ 'before.csv': table(9, 1), 'after.csv': table(9, 2) });
  gate(cwd, 'before.csv', 'after.csv');
  expect(readdirSync(cwd).sort()).toEqual(['after.csv', 'before.csv']);
});

test('prints what the example in docs/ci.md shows', () => {
  const page = readFileSync(path.join(ROOT, 'docs', 'ci.md'), 'utf8');
  const [, script = '', shown] =
    /<!-- gate example: run by tests -->\n```sh\n(.*?)```\n\n```text\n(.*?)```/s.exec(page) ?? [];
  const lines = script.trim().split('\n');
  const cwd = temporaryFolder();
  for (const line of lines.slice(0, -1)) execFileSync('sh', ['-c', line], { cwd });
  expect(lines.at(-1)).toBe('proctor gate before.csv after.csv');
  expect(gate(cwd, 'before.csv', 'after.csv')).toEqual({ code: 3, stdout: shown, stderr: '' });
});
