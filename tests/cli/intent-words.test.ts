import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { place } from '../support/runs.ts';

const SAYS = `console.log('one'); console.error('two'); require('fs').writeFileSync('out/a.txt', 'abc')`;
const INTENT = { goal: 'Write a file', commands: [{ argv: ['node', '-e', SAYS] }], outputs: ['out/a.txt'] };

test('prints where the outputs are, whether the run is signed, what was kept, and what was only planned', () => {
  const here = place();
  here.file('intent.json', JSON.stringify(INTENT));
  const planned = here.proctor(['run', 'intent', 'intent.json']);
  expect(planned).toMatchObject({ code: 0, stderr: expect.stringMatching(/ {12}sealed, not signed · proctor show/) });

  expect(here.proctor(['keys', 'new']).code).toBe(0);
  const done = here.proctor(['run', 'intent', 'intent.json', '--mode', 'execute-sandbox', '--keep-sandbox']);
  expect(done.code).toBe(0);
  expect(done.stderr).toMatch(/ {12}sealed and signed, outputs in output\/ · proctor show latest/);
  const [, kept = ''] = / {2}kept {6}(\S+)\n/.exec(done.stderr) ?? [];
  expect(readFileSync(path.join(here.cwd, kept, 'out', 'a.txt'), 'utf8')).toBe('abc');
  const [, folder = ''] = / {2}evidence {2}(\S+)\n/.exec(done.stderr) ?? [];
  expect(readFileSync(path.join(here.cwd, folder, 'output', 'out', 'a.txt'), 'utf8')).toBe('abc');

  const shown = here.proctor(['show']).stdout;
  for (const [stream, text] of [['stdout', 'one\n'] as const, ['stderr', 'two\n'] as const]) {
    const [, file = ''] = new RegExp(` {2}${stream} {4}4 B {2}(\\S+)\n`).exec(shown) ?? [];
    expect(readFileSync(path.join(here.cwd, folder, file), 'utf8')).toBe(text);
  }

  const listed = here.proctor(['list'], { env: { NO_COLOR: '', FORCE_COLOR: '1' } }).stdout.split('\n');
  // An accepted intent is shown in green.
  expect(listed[0]).toMatch(/^\u001b\[32maccepted .*intent\.json, BUNDLE$/);
  expect(listed[1]).toMatch(/intent\.json, BUNDLE, only planned$/);
});

test('reports how many more rules a profile breaks', () => {
  const here = place();
  here.file('intent.json', JSON.stringify(INTENT));
  here.file('mine.json', '{"name":"mine","timeout_ms":1000}');
  expect(here.proctor(['run', 'intent', 'intent.json', '--policy', 'mine.json'])).toMatchObject({
    code: 2,
    stderr: 'error: The profile breaks a rule: PL2: allow_network is missing. It breaks 4 more.\n',
  });
});

test('suggests unpack for a pack that is named as a run', () => {
  const here = place();
  here.file('a.proctor.tar', '');
  expect(here.proctor(['show', 'a.proctor.tar'])).toMatchObject({
    code: 2,
    stderr: 'error: "a.proctor.tar" is a file, not a run. If it is a pack, extract it with `proctor unpack`.\n',
  });
});

test.each<[string, object, string]>([
  [
    'with a misspelled key',
    { versoin: '1' },
    'The answers contain "versoin", which matches no question. Did you mean "version"?',
  ],
  [
    'whose key is a host path',
    { '/home/me/a': 1 },
    'The answers contain a text that is not shown here, which matches no question.',
  ],
  [
    'with several unknown keys',
    { version: '1', b: 1, a: 2 },
    'The answers contain 2 such as "b", which matches no question.',
  ],
  ['of the wrong type', { version: [] }, 'The answer to version must be a text or a number.'],
])('rejects an answer %s', (_, answers, sentence) => {
  const here = place();
  here.file('intent.json', '{"goal":"Release <version>"}');
  here.file('answers.json', JSON.stringify(answers));
  expect(here.proctor(['run', 'intent', 'intent.json', '--answers', 'answers.json'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`error: ${sentence}`) as string,
  });
});
