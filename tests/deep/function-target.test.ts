import { afterAll, describe, expect, test } from 'vitest';
import { newCorrelationId } from '../../src/base/ids.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { allGone } from '../conformance/support.ts';
import { ProgramWorld, repliesOf } from '../run/suite/program-world.ts';
import { everythingIn, expectValid } from '../run/suite/support.ts';

afterAll(closeLauncher);

const SECRET = 'correct-horse-battery-staple';

/** Behaves as the id of its case says. */
const AGENT = `
import { setTimeout as wait } from 'node:timers/promises';
import { spawn } from 'node:child_process';
import { spells } from './lib/spells.mjs';
const acts = {
  text: () => spells('hello'),
  promise: async () => { await wait(5); return { said: 'later' }; },
  list: () => [1, 'two'],
  reply: question => ({
    case_id: question.case.id,
    final_output: { content_type: 'text', content: 'whole' },
    events: [{ type: 'tool_call', ts: 0, call_id: 'c1', tool: 'find', args: {} }],
  }),
  prints: () => { console.log('{"final_output":"forged"}'); spawn('echo', ['noise'], { stdio: 'inherit' }); return 'quiet'; },
  timers: () => { setInterval(() => {}, 1_000); return 'done'; },
  secret: () => process.env.TOKEN,
  throws: () => { console.error('about to fail', process.env.TOKEN); throw new Error('no luck in ' + import.meta.filename + ' ' + process.env.TOKEN); },
  rejects: () => Promise.reject('plain text'),
  never: () => new Promise(() => {}),
  exits: () => process.exit(0),
  nothing: () => undefined,
  big: () => 'x'.repeat(30_000),
};
export const answer = question => acts[question.case.id](question);
export default question => question;
`;

const FILES = { 'agent.mjs': AGENT, 'lib/spells.mjs': 'export const spells = text => text.toUpperCase();' };

describe.each(['process', 'none'] as const)('a function with sandbox: %s', sandbox => {
  test('answers with its return value, whatever it prints or leaves running', async () => {
    const world = new ProgramWorld(FILES);
    const declaration = {
      kind: 'function',
      module: './agent.mjs',
      export: 'answer',
      env: { TOKEN: '${env:DESK_TOKEN}' },
      sandbox,
    };
    const ids = ['text', 'promise', 'list', 'reply', 'prints', 'timers', 'secret'];
    const environment = { DESK_TOKEN: SECRET };
    const ran = await world.ran(declaration, ids, { environment });
    const outputs = ids.map(id => ran.artifact(id).final_output?.content);
    const [masked] = outputs.splice(-1);
    expect(outputs).toEqual(['HELLO', { said: 'later' }, '[1,"two"]', 'whole', 'quiet', 'done']);
    expect(masked).toMatch(/masked/);
    expect(ran.artifact('reply').events).toMatchObject([{ type: 'tool_call', tool: 'find' }]);
    expect(repliesOf(ran)).toMatchObject({ text: '"HELLO"', list: '[1,"two"]' });
    expect(ran.bytes('assets/target.log').toString()).toContain(
      '[case prints, attempt 1]\n{"final_output":"forged"}\n',
    );
    expect(everythingIn(ran.folder)).not.toContain(SECRET);
    await expectValid(ran.folder);
  });

  test('fails with its message, without a stack or a path', async () => {
    const world = new ProgramWorld(FILES);
    const declaration = {
      kind: 'function',
      module: 'agent.mjs',
      export: 'answer',
      env: { TOKEN: '${env:DESK_TOKEN}' },
      sandbox,
    };
    const ids = ['throws', 'rejects', 'never', 'exits', 'nothing', 'big'];
    const environment = { DESK_TOKEN: SECRET };
    const { artifact, bytes, folder } = await world.ran(declaration, ids, { environment, bodyBytesMax: 10_000 });
    const failures = ids.map(id => artifact(id).runner_failure);
    expect(failures.map(failure => failure?.class)).toEqual(ids.map(() => 'schema_mismatch'));
    expect(failures[0]?.error_message).toMatch(/^The function failed: no luck in agent\.mjs \S*masked\S*$/);
    expect(failures[0]?.body_snippet).toMatch(/^about to fail .*masked/);
    expect(bytes('assets/target.log').toString()).toMatch(/^\[case throws, attempt 1\]\nabout to fail .*masked/m);
    expect(failures.slice(1).map(failure => failure?.error_message)).toEqual([
      'The function failed: plain text',
      'The function failed: it waits for a promise that nothing resolves.',
      'The function failed: it ended its process with code 0.',
      'The function failed: it returned a value that is not JSON.',
      'The answer is larger than 10000 bytes.',
    ]);
    expect(everythingIn(folder)).not.toContain(SECRET);
    expect(everythingIn(folder)).not.toContain(world.cwd);
    await expectValid(folder);
  });

  test('gets the case, and its return value can be mapped', async () => {
    const world = new ProgramWorld(FILES);
    const reply = { final_output: '$.input.user', events: [{ as: 'note', each: '$.session', id: '@.id' }] };
    const cases = [{ id: 'a', input: { user: 'hi', context: { locale: 'en' } }, metadata: { level: 3 } }];
    const ran = await world.ran({ kind: 'function', module: 'agent.mjs', reply, sandbox }, cases, { as: 'new' });
    expect(ran.artifact('a').final_output?.content).toBe('hi');
    expect(JSON.parse(repliesOf(ran)['a'] ?? '')).toEqual({
      input: { user: 'hi', context: { locale: 'en' } },
      case: { id: 'a', metadata: { level: 3 } },
      session: { id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      attempt: { key: expect.stringContaining('/a/') },
      side: 'new',
    });
    await expectValid(ran.folder);
  });

  test('that never ends is killed', async () => {
    const word = `stuck-${newCorrelationId()}`;
    const stuck = `
      import { spawn } from 'node:child_process';
      export default () => {
        spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)', '${word}'], { detached: true });
        for (;;);
      };`;
    const world = new ProgramWorld({ 'stuck.mjs': stuck });
    const declaration = { kind: 'function', module: 'stuck.mjs', timeout: '3s', sandbox };
    const { artifact } = await world.ran(declaration, ['a']);
    expect(artifact('a').runner_failure).toMatchObject({ class: 'timeout' });
    await allGone(word);
  });
});

test('a function may be the default or a named export of a CommonJS module', async () => {
  const world = new ProgramWorld({
    'agent.cjs': 'module.exports = () => "common"; module.exports.named = () => "named";',
  });
  for (const [name, said] of [
    ['default', 'common'],
    ['named', 'named'],
  ] as const) {
    const declaration = { kind: 'function', module: 'agent.cjs', export: name };
    expect((await world.ran(declaration, ['a'])).artifact('a').final_output?.content).toBe(said);
  }
});

test('a module that cannot be loaded fails the case', async () => {
  const world = new ProgramWorld({ 'agent.mjs': "import './missing.mjs';", 'other.mjs': 'export const one = 1;' });
  const failure = async (module: string): Promise<string | null | undefined> =>
    (await world.ran({ kind: 'function', module }, ['a'])).artifact('a').runner_failure?.error_message;
  expect(await failure('agent.mjs')).toBe(
    "The function failed: Cannot find module 'missing.mjs' imported from agent.mjs",
  );
  expect(await failure('other.mjs')).toBe('The function failed: the module exports no function "default".');
});

test.each<[string, object, RegExp]>([
  ['an absolute module path', { module: '/agent.js' }, /module must be relative/],
  ['a module in another language', { module: 'agent.py' }, /module must be a \.js, \.mjs or \.cjs file/],
  ['a missing module', { module: 'missing.js' }, /The module "missing.js" does not exist/],
  ['a module that the sandbox does not show', { module: '../temp/agent.js' }, /shows only the folder of the target/],
])('refuses %s', async (_, over, message) => {
  const world = new ProgramWorld({ '../temp/agent.js': '' });
  await expect(world.ran({ kind: 'function', ...over }, ['a'])).rejects.toThrow(message);
});
