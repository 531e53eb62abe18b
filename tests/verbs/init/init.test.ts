import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { initProject, type InitOptions, type InitWishes } from '../../../src/verbs/init/init.ts';
import { writeProject } from '../../../src/verbs/init/write-project.ts';
import { temporaryFolder } from '../../support/support.ts';

const init = (cwd: string, wishes: InitWishes, more: Partial<InitOptions> = {}) =>
  initProject({ cwd, wishes, environment: {}, ports: [], ...more });
const read = (cwd: string, file: string): string => readFileSync(path.join(cwd, file), 'utf8');

test('an empty folder gets a project, a suite and an example agent', async () => {
  const cwd = temporaryFolder();
  const { files, notes } = await init(cwd, {});
  expect(files.map(({ file, action }) => [file, action])).toEqual([
    ['proctor.yaml', 'created'],
    ['proctor/cases.yaml', 'created'],
    ['agent.mjs', 'created'],
    ['.gitignore', 'created'],
  ]);
  expect(notes).toEqual([]);
  expect(read(cwd, '.gitignore')).toBe('.proctor/\n');
  expect(readdirSync(cwd).sort()).toEqual(['.gitignore', 'agent.mjs', 'proctor', 'proctor.yaml']);
});

test('a folder with files gets the example next to the cases', async () => {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'agent.mjs'), 'mine');
  await init(cwd, {});
  expect(read(cwd, 'agent.mjs')).toBe('mine');
  expect(existsSync(path.join(cwd, 'proctor', 'agent.mjs'))).toBe(true);
  expect(read(cwd, 'proctor.yaml')).toContain('run: [node, proctor/agent.mjs]');
});

describe('an existing file or link', () => {
  test.each([
    ['proctor.yaml', /^proctor\.yaml already exists, so this folder is set up: run `proctor test`\./],
    ['proctor/cases.yaml', /^init never overwrites a file\. Remove or rename proctor\/cases\.yaml first\.$/],
  ])('is not overwritten, and the message names it: %s', async (file, message) => {
    const cwd = temporaryFolder();
    mkdirSync(path.join(cwd, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(cwd, file), 'mine');
    await expect(init(cwd, {})).rejects.toThrow(message);
    expect(read(cwd, file)).toBe('mine');
    expect(readdirSync(cwd)).toEqual([file.split('/')[0]]);
  });

  test('is refused even if it is a dangling link', async () => {
    const cwd = temporaryFolder();
    symlinkSync('nowhere', path.join(cwd, 'proctor.yaml'));
    await expect(init(cwd, {})).rejects.toThrow('proctor.yaml already exists');
    expect(existsSync(path.join(cwd, 'nowhere'))).toBe(false);
  });

  test('is refused if the files would end up outside the folder', async () => {
    const [cwd, outside] = [temporaryFolder(), temporaryFolder()];
    symlinkSync(outside, path.join(cwd, 'proctor'));
    await expect(init(cwd, {})).rejects.toThrow('proctor is a link or a file');
    expect([readdirSync(cwd), readdirSync(outside)]).toEqual([['proctor'], []]);
  });

  test('is refused before the first question', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'proctor.yaml'), '');
    const ask = () => Promise.reject(new Error('asked'));
    await expect(init(cwd, {}, { ask })).rejects.toThrow('already exists');
  });
});

test('if one file cannot be written, none is', () => {
  const cwd = temporaryFolder();
  const file = (name: string) => ({ file: name, text: 'x', purpose: '' });
  expect(() => writeProject(cwd, [file('deep/a'), file('b'), file('b')], 'always')).toThrow(/^Nothing was written/);
  expect(readdirSync(cwd)).toEqual([]);
});

test('a cancelled init writes nothing', async () => {
  const cwd = temporaryFolder();
  await expect(init(cwd, {}, { signal: AbortSignal.abort() })).rejects.toThrow('Cancelled. Nothing was written.');
  expect(readdirSync(cwd)).toEqual([]);
});

describe('.gitignore', () => {
  test('gets one line, and keeps its bytes and mode', async () => {
    const cwd = temporaryFolder();
    const before = Buffer.from('node_modules\n\xff', 'latin1');
    writeFileSync(path.join(cwd, '.gitignore'), before, { mode: 0o640 });
    const { files } = await init(cwd, {});
    expect(files.at(-1)).toMatchObject({ file: '.gitignore', action: 'changed' });
    const after = readFileSync(path.join(cwd, '.gitignore'));
    expect(after).toEqual(Buffer.concat([before, Buffer.from('\n.proctor/\n')]));
    expect(statSync(path.join(cwd, '.gitignore')).mode & 0o777).toBe(0o640);
  });

  test.each(['.proctor\n', 'a\n/.proctor/\nb\n', 'a\r\n.proctor/\r\n'])(
    'stays as it is if it has the line: %j',
    async text => {
      const cwd = temporaryFolder();
      writeFileSync(path.join(cwd, '.gitignore'), text);
      await init(cwd, {});
      expect(read(cwd, '.gitignore')).toBe(text);
    },
  );

  test('stays as it is for a coding agent, which refuses a changed work tree', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, '.gitignore'), 'a\n');
    await init(cwd, { agent: 'claude' });
    expect(read(cwd, '.gitignore')).toBe('a\n');
  });
});

describe('the options of init', () => {
  test.each<[string, InitWishes, string]>([
    ['two things to test', { url: 'http://127.0.0.1:1', agent: 'claude' }, 'Name one thing to test'],
    ['a kind that does not match the agent', { kind: 'script', agent: 'claude' }, 'Name one thing to test'],
    ['a URL of another protocol', { url: 'ws://127.0.0.1:1' }, 'The URL must start with http://'],
    ['a URL with a password', { url: 'http://me:secret@127.0.0.1:1' }, 'The URL must start with http://'],
    ['a URL with a placeholder', { url: 'http://127.0.0.1:1/${env:HOME}' }, 'The URL must start with http://'],
    ['a URL with a query', { url: 'http://127.0.0.1:1/?a=b' }, 'The URL must start with http://'],
    ['an agent that is not installed', { kind: 'agent' }, 'Neither claude nor codex is on the PATH.'],
    ['an unknown agent', { agent: 'other' }, 'The agent must be claude or codex.'],
    ['a script that does not exist', { script: 'a.py' }, 'Cannot read the script "a.py"'],
    ['a script outside the folder', { script: '../a.py' }, 'The script must be a file in this folder'],
    ['a script with a placeholder', { script: '${env:HOME}.py' }, 'The script must be a file in this folder'],
    ['a name with an escape sequence', { name: '\u001b[2J' }, 'The name must be'],
  ])('are refused, and nothing is written: %s', async (_, wishes, message) => {
    const cwd = temporaryFolder();
    const fault: unknown = await init(cwd, wishes).catch((error: unknown) => error);
    expect((fault as Error).message).toContain(message);
    expect((fault as Error).message).not.toContain('secret');
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('can come from the questions, and the path of a typed address is kept', async () => {
    const cwd = temporaryFolder();
    const { what } = await init(cwd, {}, { ask: async () => ({ url: 'http://127.0.0.1:1/ask', name: 'Desk' }) });
    expect(what).toBe('the API at http://127.0.0.1:1');
    expect(read(cwd, 'proctor.yaml')).toContain('path: /ask');
  });

  test('never select a script that does not read cases', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'deploy.sh'), 'rm -rf build');
    expect((await init(cwd, { kind: 'script' })).what).toBe('an example script');
  });

  test('for a coding agent lead to notes on what is missing and what a test costs', async () => {
    const { notes } = await init(temporaryFolder(), { agent: 'codex' });
    expect(notes).toEqual([
      expect.stringContaining('Each test sends 1 task to codex, which costs money: at most 10 turns and 5 minutes.'),
      'The agent works on a private copy of the last commit, so commit your changes first.',
      'codex is not on the PATH. Install it before a test.',
      'Set OPENAI_API_KEY: the agent needs access to its model.',
    ]);
  });
});
