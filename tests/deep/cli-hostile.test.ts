import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, ftruncateSync, mkdirSync, openSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { runner } from '../../src/contracts/runner/index.ts';
import { proctor, type Ran, temporaryFolder } from '../support/support.ts';

const good = JSON.stringify(runner.example);

/** Any input gets a readable answer, the right exit code, and no internal details. */
function expectAnswer(ran: Ran, code: number, said: RegExp): void {
  expect(ran.code, ran.stdout + ran.stderr).toBe(code);
  expect(ran.stdout + ran.stderr).toMatch(said);
  expect(ran.stderr).not.toMatch(/\n\s+at |node:internal|file:\/\/|Error:|[\\/]dist[\\/]/);
}

describe('input', () => {
  const inputs: [string, string | Uint8Array, number, RegExp][] = [
    ['nothing', '', 2, /empty/],
    ['a byte order mark', `\ufeff${good}`, 2, /byte order mark/],
    ['invalid UTF-8', Buffer.concat([Buffer.from(good.slice(0, -1)), Buffer.from([0xff, 0x7d])]), 2, /UTF-8/],
    ['UTF-16', Buffer.from(good, 'utf16le'), 2, /UTF-16/],
    ['trailing bytes', `${good}x`, 2, /More bytes/],
    ['two documents', `${good}\n${good}`, 2, /More bytes/],
    ['NaN', good.replace('60000', 'NaN'), 2, /NaN/],
    ['a number that is not finite', good.replace('60000', '1e999'), 2, /finite/],
    ['an integer that would be rounded', good.replace('60000', '9007199254740993'), 2, /rounded/],
    ['5,000 digits', good.replace('60000', '6'.repeat(5_000)), 2, /rounded/],
    ['a duplicate key', good.replace('"exit":', '"exit":1,"exit":'), 2, /twice/],
    ['a duplicate key that is escaped', good.replace('"exit":', '"\\u0065xit":1,"exit":'), 2, /twice/],
    ['half a surrogate pair', good.replace('0.3.15', '\\ud83d'), 2, /surrogate/],
    ['200,000 levels', '['.repeat(200_000) + ']'.repeat(200_000), 2, /nested/],
    [
      '200,000 levels inside a record',
      good.replace('"exit":', `"x":${'[['.repeat(100_000)}${']]'.repeat(100_000)},"exit":`),
      2,
      /nested/,
    ],
    ['a flood of values', `{"runner_schema_version":"1.0.0","x":[${'0,'.repeat(400_000)}0]}`, 2, /values/],
    ['a megabyte too much', `{"runner_schema_version":"1.0.0","x":"${'x'.repeat(2_000_000)}"}`, 2, /exceeds/],
    ['__proto__', good.replace('{', '{"__proto__":{"x":1},'), 0, /__proto__/],
    ['3,001 broken entries', good.replace('["build","dist","out","tmp"]', `[${'7,'.repeat(3_000)}7]`), 3, /RN7/],
  ];

  test.each(inputs)('with %s gets the right answer, from a file and from standard input', (_, bytes, code, said) => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'input.json'), bytes);
    expectAnswer(proctor(['verify', 'input.json'], { cwd }), code, said);
    expectAnswer(proctor(['verify', '--as', 'runner', '-'], { input: bytes }), code, said);
    const letter = proctor(['runner-verify', '-'], { input: bytes });
    expectAnswer(letter, code, said);
    expect(letter.stdout.trimEnd().split('\n').at(-1)).toMatch(
      /^\{"ok":(?:true,"runner_hash":"sha256:[0-9a-f]{64}"|false,"violations":\[.*\])\}$/,
    );
  });

  test.each([
    ['phases of a runner', `{"runner_schema_version":"1.0.0","timing":{"phases":[${'{},'.repeat(60_000)}{}]}}`],
    ['case ids of a run', `{"schema_version":"run.v1","selected_case_ids":[${'0,'.repeat(900_000)}0]}`],
    ['events of a case', `{"schema_version":"case.v1","events":[${'{},'.repeat(900_000)}{}]}`],
    ['tool calls of a case', `{"schema_version":"case.v1","events":[${'{"type":"tool_call"},'.repeat(200_000)}{}]}`],
  ])('with a flood of wrong %s gets a verdict, and so does the next input', (_, text) => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'flood.json'), text);
    const { code, stdout } = proctor(['verify', '--json', 'flood.json', '-'], { cwd, input: good });
    const { inputs } = JSON.parse(stdout) as { inputs: { outcome: string; violations: unknown[]; omitted: number }[] };
    expect(code).toBe(3);
    expect(inputs.map(({ outcome }) => outcome)).toEqual(['invalid', 'valid']);
    expect(inputs[0]?.violations.length).toBe(1_000);
    expect(inputs[0]?.omitted).toBeGreaterThan(10_000);
  });

  test('has its violations listed up to a limit, and the rest counted', () => {
    const bytes = good.replace('["build","dist","out","tmp"]', `[${'7,'.repeat(3_000)}7]`);
    const { stdout } = proctor(['verify', '--json', '-'], { input: bytes });
    const [verdict] = (JSON.parse(stdout) as { inputs: { violations: unknown[]; omitted: number }[] }).inputs;
    expect(verdict?.violations.length).toBe(1_000);
    expect(verdict?.omitted).toBe(2_001);
  });
});

describe('files that are not regular', () => {
  test('a FIFO is refused at once', () => {
    const cwd = temporaryFolder();
    execFileSync('mkfifo', ['pipe.json'], { cwd });
    expectAnswer(proctor(['verify', 'pipe.json'], { cwd }), 1, /This is a FIFO, not a regular file/);
    expectAnswer(proctor(['runner-verify', 'pipe.json'], { cwd }), 1, /FIFO/);
  });

  test.each(['/dev/zero', '/dev/null', '/dev/tty'])('the device %s is refused', device => {
    expectAnswer(proctor(['verify', device]), 1, /device/);
  });

  test('a socket is refused', async () => {
    const cwd = temporaryFolder();
    const server = createServer().listen(path.join(cwd, 'socket.json'));
    await once(server, 'listening');
    expectAnswer(proctor(['verify', 'socket.json'], { cwd }), 1, /socket/);
    server.close();
  });

  test('a folder given to runner-verify is refused', () => {
    expectAnswer(proctor(['runner-verify', temporaryFolder()]), 1, /folder/);
  });

  test('a folder with circular symlinks is walked once', () => {
    const cwd = temporaryFolder();
    mkdirSync(path.join(cwd, 'evidence', 'deep'), { recursive: true });
    writeFileSync(path.join(cwd, 'evidence', 'runner.json'), good);
    symlinkSync('..', path.join(cwd, 'evidence', 'deep', 'up'));
    symlinkSync('self', path.join(cwd, 'evidence', 'self'));
    expectAnswer(proctor(['verify', 'evidence'], { cwd }), 3, /FD1 {3}deep\/up is a link[\s\S]*FD1 {3}self is a link/);
  });

  test('a folder that is nested too deeply is refused', () => {
    const cwd = temporaryFolder();
    mkdirSync(path.join(cwd, ...Array.from({ length: 40 }, () => 'd')), { recursive: true });
    expectAnswer(proctor(['verify', '.'], { cwd }), 2, /deeper/);
  });

  test('an unreadable file and an inaccessible folder are refused', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'secret.json'), good, { mode: 0 });
    mkdirSync(path.join(cwd, 'closed', 'inner'), { recursive: true });
    writeFileSync(path.join(cwd, 'closed', 'runner.json'), good);
    chmodSync(path.join(cwd, 'closed', 'inner'), 0);
    chmodSync(cwd, 0o755);
    // root can read everything, so the program runs as the user nobody.
    const uid = process.getuid?.() === 0 ? { uid: 65534 } : {};
    expectAnswer(proctor(['verify', 'secret.json'], { cwd, ...uid }), 1, /Permission denied/);
    expectAnswer(proctor(['verify', 'closed'], { cwd, ...uid }), 1, /Permission denied/);
    chmodSync(path.join(cwd, 'closed', 'inner'), 0o755);
  });

  test('an empty name and an overlong name are refused', () => {
    expectAnswer(proctor(['verify', 'x'.repeat(5_000)]), 1, /name is too long/);
    expectAnswer(proctor(['verify', '']), 1, /does not exist/);
  });
});

describe('deceptive files', () => {
  test('a sparse file of a terabyte is refused because of its size', () => {
    const cwd = temporaryFolder();
    const fd = openSync(path.join(cwd, 'huge.json'), 'w');
    ftruncateSync(fd, 2 ** 40);
    closeSync(fd);
    expectAnswer(proctor(['verify', 'huge.json'], { cwd }), 2, /exceeds/);
  });

  test('a file that returns more bytes than its size is reported as changed', () => {
    expectAnswer(proctor(['verify', '/proc/version']), 1, /changed while it was read/);
  });

  test('a file that grows during reading is reported as changed', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'grows.json'), `{"runner_schema_version":"1.0.0","x":"${'x'.repeat(12_000_000)}"}`);
    const writer = spawn('bash', ['-c', 'while :; do printf " " >> grows.json; done'], { cwd });
    try {
      const answers = Array.from({ length: 5 }, () => proctor(['verify', 'grows.json'], { cwd }));
      expect(answers.map(({ stdout }) => stdout).join()).toMatch(/changed while it was read/);
      for (const { code } of answers) expect([1, 2]).toContain(code);
    } finally {
      writer.kill('SIGKILL');
      await once(writer, 'exit');
    }
  });

  test('standard input that is a folder is unreadable, and input that is empty or closed is refused', () => {
    const run = (redirect: string): Ran => {
      const cli = path.join(import.meta.dirname, '..', '..', 'dist', 'proctor.js');
      const script = `"${process.execPath}" "${cli}" verify - ${redirect}; echo "exit $?"`;
      return { code: 0, stdout: execFileSync('bash', ['-c', script], { encoding: 'utf8' }), stderr: '' };
    };
    expect(run('< /tmp').stdout).toMatch(/This is a folder[\s\S]*exit 1/);
    expect(run('< /dev/null').stdout).toMatch(/empty[\s\S]*exit 2/);
    expect(run('<&-').stdout).toMatch(/empty[\s\S]*exit 2/);
  });

  test('an overlong NDJSON line is refused, and the next lines are read', () => {
    const cwd = temporaryFolder();
    writeFileSync(
      path.join(cwd, 'long.ndjson'),
      `${good}\n"${'x'.repeat(20_000_000)}"\n${good.replace('abc123', 'abc124')}`,
    );
    const { code, stdout } = proctor(['verify', 'long.ndjson'], { cwd });
    expect(code).toBe(2);
    expect(stdout).toMatch(/long\.ndjson:2 {2}refused: The document exceeds/);
    expect(stdout).toMatch(/2 valid, 1 refused \(2 runner\)/);
  });
});
