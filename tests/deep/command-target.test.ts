import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newCorrelationId } from '../../src/base/ids.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { verify } from '../../src/verify/index.ts';
import { allGone, PATIENT, processesWith } from '../conformance/support.ts';
import { ProgramWorld, repliesOf } from '../run/suite/program-world.ts';
import { everythingIn, expectValid } from '../run/suite/support.ts';

afterAll(closeLauncher);

const SECRET = 'correct-horse-battery-staple';

const SAY = `console.log(JSON.stringify(process.argv.slice(2)));`;

const AGENT = `
import { readFileSync } from 'node:fs';
const [, , id] = process.argv;
const asked = JSON.parse(readFileSync(0, 'utf8'));
console.error('token', process.env.TOKEN);
if (id === 'crash') process.exit(3);
if (id === 'garbage') console.log('hello', process.env.TOKEN);
else if (id === 'flood') for (let line = 0; line < 2_000; line++) console.log('x'.repeat(1_000));
else console.log(JSON.stringify({ answer: { asked, token: process.env.TOKEN, user: process.env.USER_TEXT } }));
`;

const WRITES = `
import { symlinkSync, writeFileSync } from 'node:fs';
const [, , id, output] = process.argv;
console.log('talking to itself');
if (id === 'link') symlinkSync('/etc/passwd', output);
else if (id === 'large') writeFileSync(output, 'x'.repeat(5_000));
else if (id !== 'none') writeFileSync(output, 'from a file\\n');
`;

const HANGS = `
import { spawn } from 'node:child_process';
const [, , word] = process.argv;
const script = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000)';
spawn(process.execPath, ['-e', script, word], { detached: true, stdio: 'inherit' });
console.error('started');
setInterval(() => {}, 1_000);
`;

const LIST = `
import { readdirSync } from 'node:fs';
console.log(JSON.stringify({ '.proctor': readdirSync('.proctor'), lib: readdirSync('lib') }));
`;

const CURIOUS = `
import { readdirSync, writeFileSync } from 'node:fs';
const tried = act => { try { act(); return 'worked'; } catch (error) { return error.code; } };
const said = {
  write: tried(() => writeFileSync('left.txt', 'x')),
  home: tried(() => readdirSync(process.argv[3])),
  temporary: tried(() => writeFileSync(process.env.TMPDIR + '/x', 'x')),
  secret: process.env.DESK_TOKEN ?? 'none',
  proctor: readdirSync('.proctor'),
  beside: readdirSync('.').includes('curious.mjs'),
  network: await fetch(process.argv[2]).then(answer => answer.text(), error => error.cause?.code ?? 'failed'),
};
console.log(JSON.stringify({ said }));
`;

describe.each(['process', 'none'] as const)('a command with sandbox: %s', sandbox => {
  test('gets each value as one word and answers with the text that it prints', async () => {
    const world = new ProgramWorld({ 'say.mjs': SAY });
    const user = `two words; $(id) "x" 'y' \${HOME}\nand a line`;
    const declaration = { kind: 'command', run: ['node', 'say.mjs', '${input.user}', 'to:${case.id}'], sandbox };
    const ran = await world.ran(declaration, [{ id: 'a', input: { user } }]);
    const printed = JSON.stringify([user, 'to:a']);
    expect(ran.artifact('a').final_output).toMatchObject({ content_type: 'text', content: printed });
    expect(repliesOf(ran)).toEqual({ a: `${printed}\n` });
    const { target } = JSON.parse(ran.bytes('evidence/request.json').toString());
    expect(target).toMatchObject({ kind: 'declared', declaration, sandbox });
    expect(target.isolation === 'none').toBe(sandbox === 'none');
    const runner = JSON.parse(ran.bytes('evidence/runner.json').toString());
    expect(runner.sandbox).toMatchObject({ backend: sandbox, network_blocked: sandbox === 'process' });
    await expectValid(ran.folder);
  });

  test('reads its input as JSON, and its failures count as failures of the agent', async () => {
    const world = new ProgramWorld({ 'agent.mjs': AGENT });
    const declaration = {
      kind: 'command',
      run: ['node', 'agent.mjs', '${case.id}'],
      input: { text: '${input.user}', count: '${case.metadata.count}', absent: '${input.context.none}' },
      env: { TOKEN: '${env:DESK_TOKEN}', USER_TEXT: 'says ${input.user}' },
      reply: { final_output: '$.answer' },
      sandbox,
    };
    const cases = [{ id: 'ok', input: { user: 'hi' }, metadata: { count: 7 } }, 'crash', 'garbage', 'flood'];
    const environment = { DESK_TOKEN: SECRET };
    const { artifact, folder } = await world.ran(declaration, cases, { environment, bodyBytesMax: 10_000 });
    expect(artifact('ok').final_output).toMatchObject({
      content: { asked: { text: 'hi', count: 7 }, token: expect.stringContaining('masked'), user: 'says hi' },
    });
    expect(artifact('crash').runner_failure).toMatchObject({
      class: 'schema_mismatch',
      error_message: 'The program exited with code 3.',
      body_snippet: expect.stringMatching(/^token .*masked/),
    });
    expect(artifact('garbage').runner_failure).toMatchObject({
      class: 'invalid_json',
      body_snippet: expect.stringMatching(/^hello .*masked/),
    });
    expect(artifact('flood').runner_failure).toMatchObject({ class: 'schema_mismatch', error_name: 'TOO_LARGE' });
    expect(everythingIn(folder)).not.toContain(SECRET);
    await expectValid(folder);
  });

  test('may write its reply to a file, which is read without following links', async () => {
    const world = new ProgramWorld({ 'writes.mjs': WRITES });
    const run = ['node', 'writes.mjs', '${case.id}', '${output}'];
    const declaration = { kind: 'command', run, output: 'reply.txt', sandbox };
    const { artifact, folder } = await world.ran(declaration, ['ok', 'link', 'none', 'large'], { bodyBytesMax: 2_000 });
    expect(artifact('ok').final_output?.content).toBe('from a file');
    for (const id of ['link', 'none'])
      expect(artifact(id).runner_failure?.error_message).toBe('The program did not write its output file.');
    expect(artifact('large').runner_failure).toMatchObject({ error_name: 'TOO_LARGE' });
    await expectValid(folder);
  });

  test('is killed with everything it started when its time is up', async () => {
    const word = `hangs-${newCorrelationId()}`;
    const world = new ProgramWorld({ 'hangs.mjs': HANGS });
    const declaration = { kind: 'command', run: ['node', 'hangs.mjs', word], timeout: '3s', sandbox };
    const { artifact, folder } = await world.ran(declaration, ['a']);
    expect(artifact('a').runner_failure).toMatchObject({
      class: 'timeout',
      error_message: 'The program did not end within 3000 ms.',
      body_snippet: 'started\n',
    });
    await allGone(word);
    await expectValid(folder);
  });

  test('is killed when it prints nothing for too long', async () => {
    const word = `silent-${newCorrelationId()}`;
    const world = new ProgramWorld({ 'hangs.mjs': HANGS });
    const declaration = { kind: 'command', run: ['node', 'hangs.mjs', word], idle_timeout: '2s', sandbox };
    const { artifact } = await world.ran(declaration, ['a']);
    expect(artifact('a').runner_failure).toMatchObject({ class: 'timeout', error_name: 'IDLE' });
    await allGone(word);
  });
});

describe('in the sandbox', () => {
  async function curious(over: object): Promise<unknown> {
    const server = createServer((_, response) => response.end('reached')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise(resolve => server.once('listening', resolve));
    const world = new ProgramWorld({ 'curious.mjs': CURIOUS });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const run = ['node', 'curious.mjs', url, world.temp];
    const declaration = { kind: 'command', run, reply: { final_output: '$.said' }, ...over };
    const environment = { DESK_TOKEN: SECRET };
    return (await world.ran(declaration, ['a'], { environment })).artifact('a').final_output?.content;
  }

  test('a command sees the folder of its target file without .proctor, and neither writes there nor reaches the network', async () => {
    const said = { write: 'EROFS', home: 'ENOENT', temporary: 'worked', secret: 'none', proctor: [], beside: true };
    expect(await curious({})).toMatchObject(said);
    expect(await curious({})).not.toMatchObject({ network: 'reached' });
    expect(await curious({ network: 'allow' })).toEqual({ ...said, network: 'reached' });
  });

  test('a folder that only its owner can read is copied, without .proctor', async () => {
    const world = new ProgramWorld({ 'list.mjs': LIST, '.proctor/secret.txt': 'x', 'lib/one.txt': 'x' });
    chmodSync(path.join(world.cwd, '.proctor'), 0o700);
    chmodSync(world.cwd, 0o700);
    const declaration = { kind: 'command', run: ['node', 'list.mjs'], reply: { final_output: '$' } };
    const { artifact } = await world.ran(declaration, ['a', 'b', 'c'], { concurrency: 3 });
    for (const id of ['a', 'b', 'c'])
      expect(artifact(id).final_output?.content).toEqual({ '.proctor': [], lib: ['one.txt'] });
  });

  test('a limit that a command exceeds is named', async () => {
    const world = new ProgramWorld({ 'eats.mjs': 'const all = []; for (;;) all.push(Buffer.alloc(1e7, 1));' });
    const declaration = { kind: 'command', run: ['node', 'eats.mjs'] };
    const { artifact } = await world.ran(declaration, ['a'], { bounds: { memoryBytes: 200 * 1024 ** 2 } });
    expect(artifact('a').runner_failure).toMatchObject({ class: 'schema_mismatch', error_name: 'MEMORY_LIMIT' });
  });
});

test('a cancelled run kills the program and stays open', async () => {
  const word = `cancelled-${newCorrelationId()}`;
  const world = new ProgramWorld({ 'hangs.mjs': HANGS });
  const stopped = new AbortController();
  const running = world.ran({ kind: 'command', run: ['node', 'hangs.mjs', word] }, ['a'], { signal: stopped.signal });
  const failed = running.catch((error: unknown) => error);
  await vi.waitFor(() => expect(processesWith(word).length).toBeGreaterThan(1), PATIENT);
  stopped.abort();
  await failed;
  await allGone(word);
  const [folder = ''] = readdirSync(path.join(world.cwd, '.proctor/runs/baseline'));
  expect(existsSync(path.join(world.cwd, '.proctor/runs/baseline', folder, 'a.json'))).toBe(false);
});

test('a value that a program cannot receive fails its case before the program starts', async () => {
  const world = new ProgramWorld({ 'say.mjs': SAY });
  const cases = [
    { id: 'zero', input: { user: 'a\0b' } },
    { id: 'long', input: { user: 'x'.repeat(70_000) } },
    { id: 'ok', input: { user: '' } },
  ];
  const { artifact } = await world.ran({ kind: 'command', run: ['node', 'say.mjs', '${input.user}'] }, cases);
  expect(artifact('zero').runner_failure).toMatchObject({ class: 'other', error_name: 'NOT_SENT' });
  expect(artifact('long').runner_failure?.error_message).toContain('Pass it through input.');
  expect(artifact('ok').final_output?.content).toBe('[""]');
});

test('output that is not UTF-8 is not an answer', async () => {
  const world = new ProgramWorld({ 'bytes.mjs': 'process.stdout.write(Buffer.from([0xff, 0xfe]));' });
  const { artifact, folder } = await world.ran({ kind: 'command', run: ['node', 'bytes.mjs'] }, ['a']);
  expect(artifact('a').runner_failure?.error_message).toBe('The answer is not valid UTF-8.');
  await expectValid(folder);
});

test('the verifier finds a stored reply that was changed', async () => {
  const world = new ProgramWorld({ 'say.mjs': SAY });
  const { folder } = await world.ran({ kind: 'command', run: ['node', 'say.mjs', 'x'] }, ['a']);
  const file = path.join(folder, 'assets/replies.ndjson');
  writeFileSync(file, readFileSync(file, 'utf8').replace('\\"x\\"', '\\"y\\"'));
  const broken: string[] = [];
  for await (const { violations } of verify([folder])) broken.push(...violations.map(({ rule_id }) => rule_id));
  expect(broken).toContain('FD14');
});

test.each<[string, object, RegExp]>([
  ['a program chosen by a case', { run: ['${input.user}'] }, /run\[0\].*a case would choose it/],
  ['a secret as an argument', { run: ['node', '${env:DESK_TOKEN}'] }, /run\[1\].*Pass the variable through env/],
  ['${output} without an output', { run: ['node', '${output}'] }, /run\[1\].*has no value here/],
  ['an output outside its folder', { run: ['node'], output: '../x' }, /output is a path, not a bare name/],
  ['an invalid variable', { run: ['node'], env: { 'A-B': 'x' } }, /not a valid variable name/],
  ['a blocked network without a sandbox', { run: ['node'], sandbox: 'none', network: 'block' }, /cannot block/],
  ['a start command', { run: ['node'], start: { run: ['node'] } }, /start requires a target with a url/],
  ['a missing program', { run: ['no-such-program'] }, /The program "no-such-program" is not on the PATH/],
  ['a missing file', { run: ['./missing.sh'] }, /"missing.sh" does not exist or is not executable/],
  ['a missing program without a sandbox', { run: ['./missing.sh'], sandbox: 'none' }, /does not exist/],
  ['a program outside the folder', { run: ['../../outside'] }, /does not show the program/],
  ['strict isolation without a sandbox', { run: ['node'], sandbox: 'none' }, /isolation "strict"/],
])('refuses %s', async (what, over, message) => {
  const world = new ProgramWorld({});
  const strict = what.startsWith('strict') ? { bounds: { isolation: 'strict' as const } } : {};
  const environment = { DESK_TOKEN: SECRET };
  await expect(world.ran({ kind: 'command', ...over }, ['a'], { environment, ...strict })).rejects.toThrow(message);
});
