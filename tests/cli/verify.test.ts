import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { runner } from '../../src/contracts/runner/index.ts';
import { exampleWith, proctor, ROOT, temporaryFolder } from '../support/support.ts';

const good = canonicalize(runner.example);
const bad = canonicalize(exampleWith(runner, { write_roots: ['/etc'], 'exit.code': 300 }));

describe('proctor verify', () => {
  test('prints one line for each valid, invalid and unreadable input', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'good.json'), good);
    writeFileSync(path.join(cwd, 'bad.json'), bad);
    writeFileSync(path.join(cwd, 'torn.json'), good.slice(0, 50));
    const { code, stdout } = proctor(['verify', 'good.json', 'bad.json', 'torn.json', 'nowhere.json'], { cwd });
    expect(code).toBe(3);
    expect(stdout).toContain('✓ good.json  valid runner\n');
    expect(stdout).toContain(
      '✗ bad.json  not a valid runner: 2 rules broken\n    RN7   write_roots[0] is absolute.\n    RN10  exit.code must be at most 255, but is 300.\n',
    );
    expect(stdout).toMatch(/! torn\.json {2}refused: /);
    expect(stdout).toContain('! nowhere.json  not readable: The file or folder does not exist.\n');
    expect(stdout).toContain('not checked: whether the sandbox enforced what the record says');
  });

  test('checks a target file in YAML, and names the line of each violation', () => {
    const cwd = temporaryFolder();
    const target = 'kind: http\nurl: http://127.0.0.1:8000\nrequest: { path: /chat }\nreply: { final_output: $.a }\n';
    writeFileSync(path.join(cwd, 'good.yaml'), target);
    writeFileSync(path.join(cwd, 'typo.yml'), target.replace('request', 'requst'));
    writeFileSync(path.join(cwd, 'path.yaml'), target.replace('$.a', '$..a'));
    writeFileSync(path.join(cwd, 'torn.yaml'), 'kind: [\n');
    writeFileSync(path.join(cwd, 'other.yaml'), 'a: 1\n');
    const names = ['good.yaml', 'typo.yml', 'path.yaml', 'torn.yaml', 'other.yaml', 'nowhere.yaml'];
    const { code, stdout } = proctor(['verify', ...names], { cwd });
    expect(code).toBe(3);
    expect(stdout).toMatch(/^✓ good\.yaml {2}valid target$/m);
    expect(stdout).toMatch(/^✗ typo\.yml {2}not a valid target/m);
    expect(stdout).toContain('line 3: requst is an unknown key (did you mean "request"?).');
    expect(stdout).toMatch(/^✗ path\.yaml {2}not a valid target.*\n {4}TG1 {3}line 4: reply\.final_output/m);
    expect(stdout).toMatch(/^! torn\.yaml {2}refused: The file cannot be read, line 2: /m);
    expect(stdout).toMatch(/^! other\.yaml {2}refused: .+--as NAME/m);
    expect(stdout).toContain('! nowhere.yaml  not readable: The file or folder does not exist.\n');
  });

  test('prints one JSON document with --json', () => {
    const { code, stdout } = proctor(['verify', '--json', '-', 'nowhere.json'], { input: bad });
    const answer = JSON.parse(stdout) as { ok: boolean; exit_code: number; inputs: unknown[] };
    expect(code).toBe(3);
    expect(answer).toMatchObject({
      ok: false,
      exit_code: 3,
      inputs: [
        {
          ok: false,
          input: '-',
          outcome: 'invalid',
          contract: 'runner',
          violations: [{ rule_id: 'RN7', path: 'write_roots[0]' }, { rule_id: 'RN10' }],
        },
        { ok: false, input: 'nowhere.json', outcome: 'unreadable', reason: { code: 'enoent' } },
      ],
    });
  });

  test('verifies NDJSON line by line and detects a repeated id', () => {
    const cwd = temporaryFolder();
    const other = canonicalize(exampleWith(runner, { runner_id: 'runner_20260106_120000_other' }));
    writeFileSync(path.join(cwd, 'records.ndjson'), [good, other, bad, '', good, '{'].join('\n'));
    const { code, stdout } = proctor(['verify', 'records.ndjson'], { cwd });
    expect(code).toBe(3);
    expect(stdout).not.toContain('records.ndjson:1');
    expect(stdout).not.toContain('records.ndjson:2');
    expect(stdout).toContain('✗ records.ndjson:3');
    expect(stdout).toContain('! records.ndjson:4  refused: The document is empty.');
    expect(stdout).toContain(
      '✗ records.ndjson:5  not a valid runner: one rule broken\n    RN2   An earlier document has the same runner_id.',
    );
    expect(stdout).toContain('! records.ndjson:6');
    expect(stdout).toContain('✗ records.ndjson  2 valid, 2 invalid, 2 refused (4 runner)');
  });

  test('prints one line for valid NDJSON, including from standard input', () => {
    expect(proctor(['verify', '--ndjson', '-'], { input: `${good}\n` })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('✓ standard input  1 valid (1 runner)') as string,
    });
    expect(proctor(['verify', '--ndjson', '-'], { input: '' })).toMatchObject({ code: 2 });
  });

  test('verifies as the format that --as names, and rejects an unknown name', () => {
    expect(proctor(['verify', '--as', 'runner', '-'], { input: '{}' })).toMatchObject({ code: 3 });
    expect(proctor(['verify', '--as', 'nothing', '-'], { input: '{}' })).toMatchObject({ code: 2, stdout: '' });
  });

  test('rejects a document of an unknown format', () => {
    expect(proctor(['verify', '-'], { input: '{"a":1}' })).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('--as NAME') as string,
    });
    expect(proctor(['verify', '-'], { input: '[]' }).code).toBe(2);
  });

  test('detects a runner record without a version by its file name', () => {
    const cwd = temporaryFolder();
    writeFileSync(
      path.join(cwd, 'runner.json'),
      canonicalize(exampleWith(runner, { runner_schema_version: undefined })),
    );
    expect(proctor(['verify', 'runner.json'], { cwd })).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('RN1') as string,
    });
  });

  test('reads standard input once and reports a second use', () => {
    expect(proctor(['verify', '-', '-'], { input: good })).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('only once') as string,
    });
  });

  test('escapes control characters in documents and names', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'a\u001b[31mb.json'), canonicalize(exampleWith(runner, { '\u001b]0;x\u0007': 1 })));
    const { stdout } = proctor(['verify', 'a\u001b[31mb.json'], { cwd });
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
  });

  test('prints colours only when asked to', () => {
    expect(proctor(['verify', '-'], { input: good, env: { NO_COLOR: '', FORCE_COLOR: '1' } }).stdout).toContain(
      '\u001b[32m✓',
    );
    expect(proctor(['verify', '-'], { input: good, env: { NO_COLOR: '1', FORCE_COLOR: '1' } }).stdout).not.toContain(
      '\u001b',
    );
  });

  test('exits with the correct code even if nothing reads the output', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'bad.json'), bad);
    const cli = `"${process.execPath}" "${ROOT}/dist/proctor.js"`;
    const script = `${cli} verify bad.json | true; echo "\${PIPESTATUS[0]}"; ${cli} runner-verify bad.json | true; echo "\${PIPESTATUS[0]}"; ${cli} verify bad.json > /dev/full; echo "$?"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { cwd, encoding: 'utf8' });
    expect(stdout).toBe('3\n3\n2\n');
    expect(stderr).toContain('error: Cannot write to standard output or standard error.');
    expect(stderr).not.toContain(' at ');
  });

  test('counts advice on parts of a file', () => {
    const other = canonicalize(exampleWith(runner, { 'context.timezone': 'Europe/Berlin' }));
    expect(proctor(['verify', '--ndjson', '-'], { input: other }).stdout).toContain(
      '1 with advice; use --json to list it',
    );
  });

  test('ends with a total for several inputs', () => {
    expect(proctor(['verify', '-', 'a', 'b'], { input: good }).stdout).toMatch(
      /\n3 inputs: 1 valid, 2 not readable\n$/,
    );
  });

  test('does not fail if the reader closes the pipe', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'many.ndjson'), `${bad}\n`.repeat(5_000));
    const { stderr, status } = spawnSync(
      'bash',
      ['-c', `"${process.execPath}" "${ROOT}/dist/proctor.js" verify --json many.ndjson | head -c 100`],
      { cwd, encoding: 'utf8' },
    );
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  });

  test('follows links named on the command line, and reports a cycle of links', () => {
    const cwd = temporaryFolder();
    mkdirSync(path.join(cwd, 'x'));
    writeFileSync(path.join(cwd, 'x', 'good.json'), good);
    symlinkSync('x/good.json', path.join(cwd, 'link.json'));
    symlinkSync('loop.json', path.join(cwd, 'loop.json'));
    expect(proctor(['verify', 'link.json'], { cwd }).code).toBe(0);
    expect(proctor(['verify', 'loop.json'], { cwd })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Too many levels of symbolic links.') as string,
    });
  });
});

test('explain finds rules, families, formats and folders, and rejects unknown words', () => {
  expect(proctor(['explain', 'rn7']).stdout).toMatch(
    /^RN7 {2}Write Roots Valid\n[\s\S]*Example of a violation: write_roots\[0\] is absolute\./,
  );
  expect(proctor(['explain', 'RN']).stdout.match(/^RN\d+ {2}/gm)).toHaveLength(12);
  expect(proctor(['explain', 'script-result']).stdout).toMatch(/SR1[\s\S]*SR6/);
  expect(proctor(['explain', 'folders', 'FD2']).stdout.match(/^FD\d {2}/gm)).toHaveLength(10);
  expect(proctor(['explain']).stdout).toMatch(/^runner[\s\S]*folders/);
  expect(proctor(['explain', 'RN7', 'XY9'])).toMatchObject({
    code: 2,
    stderr: 'error: There is no rule or format "XY9". Run proctor explain to list them all.\n',
  });
});

test('prints help and version to stdout with exit code 0, and rejects an unknown command with a suggestion', () => {
  expect(proctor(['--version'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
  });
  expect(proctor(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('verify') as string });
  expect(proctor(['verfy'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean verify?') as string,
  });
  expect(proctor([]).code).toBe(2);
});
