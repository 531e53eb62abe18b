import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { newCorrelationId } from '../../src/base/ids.ts';
import { allGone, processesWith } from '../conformance/support.ts';
import { ProgramWorld } from '../run/suite/program-world.ts';
import { until } from '../support/runs.ts';
import type { Ran } from '../support/support.ts';

const NOBODY = 65_534;

const COMMAND = `
import { readFileSync } from 'node:fs';
const { text } = JSON.parse(readFileSync(0, 'utf8'));
if (text === 'fail') { console.error('cannot'); process.exit(4); }
console.log(JSON.stringify({ answer: text.toUpperCase() }));
`;

const TARGETS = {
  command: {
    kind: 'command',
    run: ['node', 'command.mjs'],
    input: { text: '${input.user}' },
    reply: { final_output: '$.answer' },
  },
  function: { kind: 'function', module: 'function.mjs' },
};

const FILES = {
  'command.mjs': COMMAND,
  'function.mjs': `export default ({ input: { user } }) => {
    if (user === 'fail') throw new Error('cannot');
    return user.toUpperCase();
  };`,
  'cases.json': JSON.stringify([
    { id: 'a', input: { user: 'one' } },
    { id: 'b', input: { user: 'two' } },
  ]),
};

/** The command line as the current user, or as one without privileges. */
function worldOf(user: 'this user' | 'an ordinary user') {
  const world = new ProgramWorld(FILES);
  const isOther = user === 'an ordinary user' && process.getuid?.() === 0;
  const state = path.join(world.temp, '..', 'state');
  mkdirSync(state, { mode: 0o700 });
  if (isOther) chownSync(state, NOBODY, NOBODY);
  chmodSync(world.cwd, 0o777);
  const options = { env: { XDG_STATE_HOME: state }, ...(isOther && { uid: NOBODY }) };
  return { world, proctor: (...words: string[]): Ran => world.proctor(words, options) };
}

describe.each(['this user', 'an ordinary user'] as const)('for %s', user => {
  test.each(['command', 'function'] as const)('a suite calls a %s, and its evidence verifies', kind => {
    const { world, proctor } = worldOf(user);
    world.target(TARGETS[kind]);
    const { code, stderr } = proctor(
      'run',
      'suite',
      'cases.json',
      '--target',
      'target.json',
      '--as',
      'new',
      '--run-id',
      'r1',
    );
    expect(code, stderr).toBe(0);
    const folder = path.join(world.cwd, '.proctor/runs/new/r1');
    const answer = JSON.parse(readFileSync(path.join(folder, 'b.json'), 'utf8'));
    expect(answer.final_output.content).toBe('TWO');
    expect(proctor('verify', folder).code).toBe(0);
  });

  test.each(['command', 'function'] as const)('try shows how it called a %s, and the answer or failure', kind => {
    const { world, proctor } = worldOf(user);
    world.target(TARGETS[kind]);
    const answered = proctor('try', 'target.json', 'hello');
    expect(answered.code, answered.stderr).toBe(0);
    expect(answered.stdout).toContain(`✓ answered  target (${kind})`);
    expect(answered.stdout).toContain('HELLO');
    expect(answered.stdout).toContain(kind === 'command' ? 'run node command.mjs' : 'run function.mjs default');
    const failed = proctor('try', 'target.json', 'fail');
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain(
      kind === 'command' ? 'The program exited with code 4.' : 'The function failed: cannot',
    );
  });
});

const ASKED = `
import { appendFileSync, readFileSync } from 'node:fs';
const [, , word, id, log] = process.argv;
appendFileSync(log, id + '\\n');
const times = readFileSync(log, 'utf8').split('\\n').filter(line => line === id).length;
if (id === 'b' && times === 1) setInterval(() => {}, 1_000);
else console.log('answered ' + id);
`;

test('a killed run resumes and sends no answered case again', async () => {
  const world = new ProgramWorld({ 'asked.mjs': ASKED, 'cases.json': JSON.stringify(['a', 'b', 'c'].map(asCase)) });
  const word = `asked-${newCorrelationId()}`;
  const log = path.join(world.temp, 'asked.txt');
  world.target({ kind: 'command', run: ['node', 'asked.mjs', word, '${case.id}', log], sandbox: 'none' });
  const words = ['run', 'suite', 'cases.json', '--target', 'target.json', '--as', 'new', '--run-id', 'r1'];
  const run = world.start([...words, '--concurrency', '1']);
  const asked = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  await until('the second case was asked', () => asked().includes('b'));
  run.kill('SIGKILL');
  await run.ended;
  await allGone(word);
  const { code, stderr } = world.proctor(['run', 'suite', '--resume', 'r1']);
  expect(code, stderr).toBe(0);
  expect(asked()).toEqual(['a', 'b', 'b', 'c']);
  expect(world.proctor(['verify', '.proctor/runs/new/r1']).code).toBe(0);
});

test('a program in the sandbox dies with Proctor', async () => {
  const world = new ProgramWorld({
    'hangs.mjs': 'setInterval(() => {}, 1_000);',
    'cases.json': JSON.stringify([asCase('a')]),
  });
  const word = `hangs-${newCorrelationId()}`;
  world.target({ kind: 'command', run: ['node', 'hangs.mjs', word] });
  const run = world.start(['run', 'suite', 'cases.json', '--target', 'target.json', '--as', 'new']);
  await until('the program runs', () => processesWith(word).length > 0);
  run.kill('SIGKILL');
  await run.ended;
  await allGone(word);
});

function asCase(id: string): object {
  return { id, input: { user: `What about ${id}?` } };
}
