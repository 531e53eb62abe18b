import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  listScripts,
  offerVersion,
  publishScript,
  rollBackScript,
  withdrawVersion,
} from '../../../src/verbs/publish/publish.ts';
import { stagePublished } from '../../../src/verbs/publish/run-published.ts';
import { faultOf, PublishWorld } from '../../publish/world.ts';

const stored = ({ home }: PublishWorld, ...names: string[]): string => path.join(home, 'server', 'scripts', ...names);

describe('publishing a folder', () => {
  test('stores an immutable copy under its name and version, with a digest', async () => {
    const world = new PublishWorld();
    const view = await publishScript('tool', { cwd: world.cwd, by: 'ada' });
    expect(view).toMatchObject({ name: 'echo', version: '1.0.0', state: 'published', is_new: true, files: 2 });
    expect(view.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(readFileSync(stored(world, 'echo', '1.0.0', 'files', 'run.sh'))).toEqual(
      readFileSync(path.join(world.folder, 'run.sh')),
    );
    const [script] = listScripts(world.cwd).scripts;
    expect(script).toMatchObject({ name: 'echo', title: 'Echo', current: '1.0.0', previous: null });
    expect(script?.versions).toMatchObject([{ version: '1.0.0', state: 'published', is_current: true, author: 'ada' }]);
  });

  test('accepts the same content again, and refuses other content under the same version', async () => {
    const world = new PublishWorld();
    const first = await publishScript('tool', { cwd: world.cwd });
    expect(await publishScript('tool', { cwd: world.cwd })).toEqual({ ...first, is_new: false });
    world.file('notes.txt', 'new');
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toMatch(
      /^version_taken: echo 1\.0\.0 exists/,
    );
    world.script({ version: '1.0.1' });
    const second = await publishScript('tool', { cwd: world.cwd });
    expect(second.digest).not.toBe(first.digest);
  });

  test('gives the same digest for the same files, and another one for another mode', async () => {
    const [one, two, three] = [new PublishWorld(), new PublishWorld(), new PublishWorld()];
    execFileSync('chmod', ['+x', path.join(three.folder, 'run.sh')]);
    const digests = await Promise.all([one, two, three].map(({ cwd }) => publishScript('tool', { cwd })));
    expect(digests[0]?.digest).toBe(digests[1]?.digest);
    expect(digests[0]?.digest).not.toBe(digests[2]?.digest);
  });

  test('leaves nothing behind if it refuses a folder', async () => {
    const world = new PublishWorld();
    world.script({ script: 'missing.sh' });
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toBe(
      'script_invalid: script.yaml names missing.sh in script, but the folder has no such file.',
    );
    expect(existsSync(stored(world, 'echo'))).toBe(false);
    expect(execFileSync('ls', ['-A', stored(world)], { encoding: 'utf8' })).toBe('');
  });

  test('reports every problem in script.yaml with its line and the nearest key', async () => {
    const world = new PublishWorld();
    world.file(
      'script.yaml',
      [
        'schema_version: published-script.v1',
        'name: Echo!',
        'version: 1.0.0',
        'title: Echo',
        'scirpt: run.sh',
        'script: run.sh',
        'inputs:',
        '  - kind: text',
        '    name: word',
        '    label: Word',
        '    max_lenght: 3',
        'limits: { timeout: 3h }',
      ].join('\n'),
    );
    const said = await faultOf(() => publishScript('tool', { cwd: world.cwd }));
    expect(said).toMatch(/^script_invalid: The script\.yaml is not valid:\n/);
    expect(said).toMatch(/line 2: name must be a name of 1 to 63/);
    expect(said).toMatch(/line 5: scirpt .*"script"/);
    expect(said).toMatch(/line 11: inputs\[0\]\.max_lenght .*"max_length"/);
    expect(said).toMatch(/line 12: limits\.timeout must be from 1s to 10m/);
  });

  test('refuses a pattern that RE2 cannot match, and a default that does not match', async () => {
    const world = new PublishWorld();
    const word = { kind: 'text', name: 'word', label: 'Word' };
    world.script({ inputs: [{ ...word, pattern: '(?=a)a' }] });
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toMatch(
      /inputs\[0\]\.pattern is not valid RE2/,
    );
    world.script({ inputs: [{ ...word, pattern: '[a-z]+', default: 'A' }] });
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toMatch(
      /default does not match the pattern/,
    );
  });

  test('refuses a script that no program can run', async () => {
    const world = new PublishWorld();
    world.script({ script: 'run.xyz' });
    world.file('run.xyz', 'hello');
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toMatch(/^unknown_interpreter: /);
  });
});

describe('a hostile folder', () => {
  test.each([
    [
      'a link to a file',
      (w: PublishWorld) => symlinkSync('/etc/passwd', path.join(w.folder, 'x')),
      'x is not a regular file',
    ],
    [
      'a link to a folder',
      (w: PublishWorld) => symlinkSync('/etc', path.join(w.folder, 'x')),
      'x is not a regular file',
    ],
    ['a pipe', (w: PublishWorld) => void execFileSync('mkfifo', [path.join(w.folder, 'x')]), 'x is not a regular file'],
    [
      'a name with an RTL mark',
      (w: PublishWorld) => void w.file('a\u202egpj.sh', ''),
      'a\\u{202e}gpj.sh has a name with an invisible',
    ],
    ['a name with a line feed', (w: PublishWorld) => void w.file('a\nb', ''), 'a\\u{a}b has a name with an invisible'],
    ['a backslash', (w: PublishWorld) => void w.file('a\\b', ''), 'backslash'],
    ['a device name', (w: PublishWorld) => void w.file('con.txt', ''), 'con.txt has a name that Windows reserves'],
    ['two names that differ in case', (w: PublishWorld) => void w.file('RUN.SH', ''), 'ignoring case'],
    ['a path that is too deep', (w: PublishWorld) => void w.file(`${'d/'.repeat(17)}x`, ''), 'deeper than 16'],
  ])('with %s is refused', async (_, spoil, why) => {
    const world = new PublishWorld();
    spoil(world);
    const said = await faultOf(() => publishScript('tool', { cwd: world.cwd }));
    expect(said).toMatch(/^unfit_folder: /);
    expect(said.toLowerCase()).toContain(why.toLowerCase());
    expect(said).not.toContain(world.cwd);
  });

  test('without a script.yaml, or with a link in its place, is refused', async () => {
    const world = new PublishWorld();
    rmSync(path.join(world.folder, 'script.yaml'));
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toMatch(/^no_script_file: /);
    expect(await faultOf(() => publishScript('nowhere', { cwd: world.cwd }))).toMatch(
      /^unfit_folder: .*there is no such folder/,
    );
  });
});

describe('releases', () => {
  /** Publishes these versions in order. */
  async function published(world: PublishWorld, ...versions: string[]): Promise<void> {
    for (const version of versions) {
      world.script({ version });
      await publishScript('tool', { cwd: world.cwd, by: 'ada' });
    }
  }
  const current = ({ cwd }: PublishWorld): string | null | undefined => listScripts(cwd).scripts[0]?.current;

  test('go from draft to published to withdrawn, and never back', async () => {
    const world = new PublishWorld();
    const { cwd } = world;
    expect(await publishScript('tool', { cwd, draft: true })).toMatchObject({ state: 'draft' });
    expect(current(world)).toBeNull();
    expect(await offerVersion('echo', '1.0.0', { cwd })).toMatchObject({ current: '1.0.0' });
    expect(await withdrawVersion('echo', '1.0.0', { cwd })).toMatchObject({ current: null });
    expect(await faultOf(() => offerVersion('echo', '1.0.0', { cwd }))).toMatch(/^withdrawn: /);
    expect(await faultOf(() => publishScript('tool', { cwd }))).toMatch(/^withdrawn: /);
  });

  test('a withdrawn current version leaves the script unoffered until it is rolled back', async () => {
    const world = new PublishWorld();
    const { cwd } = world;
    await published(world, '1.0.0', '1.1.0');
    await withdrawVersion('echo', '1.1.0', { cwd });
    expect(current(world)).toBeNull();
    expect(await rollBackScript('echo', { cwd })).toMatchObject({ current: '1.0.0', previous: null });
    expect(await faultOf(() => rollBackScript('echo', { cwd }))).toMatch(/^no_previous_version: /);
  });

  test('each roll-back goes one version further, and skips withdrawn ones', async () => {
    const world = new PublishWorld();
    const { cwd } = world;
    await published(world, '1.0.0', '1.1.0', '1.2.0', '1.3.0');
    await withdrawVersion('echo', '1.1.0', { cwd });
    expect(await rollBackScript('echo', { cwd })).toMatchObject({ current: '1.2.0', previous: '1.0.0' });
    expect(await rollBackScript('echo', { cwd })).toMatchObject({ current: '1.0.0' });
  });

  test('only the author can try a draft, and no version of another name exists', async () => {
    const world = new PublishWorld();
    const { cwd } = world;
    await publishScript('tool', { cwd, draft: true, by: 'ada' });
    const order = { name: 'echo', version: '1.0.0', cwd };
    expect(await faultOf(() => stagePublished({ ...order, by: 'bob' }))).toMatch(/^not_offered: .*Only its author/);
    expect(stagePublished({ ...order, by: 'ada' }).published.version).toBe('1.0.0');
    expect(await faultOf(() => stagePublished({ ...order, name: 'ehco' }))).toBe(
      'no_script: There is no script "ehco". Did you mean "echo"?',
    );
    expect(await faultOf(() => stagePublished({ ...order, name: '../echo' }))).toMatch(/^no_script: /);
    expect(await faultOf(() => stagePublished({ ...order, version: '../1.0.0' }))).toMatch(/^no_version: /);
  });

  test('of several publishers at once are all kept', async () => {
    const world = new PublishWorld();
    const folders = Array.from({ length: 8 }, (_, index) => {
      const folder = path.join(world.cwd, `tool-${index}`);
      cpSync(world.folder, folder, { recursive: true });
      const text = readFileSync(path.join(folder, 'script.yaml'), 'utf8').replace('1.0.0', `1.${index}.0`);
      writeFileSync(path.join(folder, 'script.yaml'), text);
      return folder;
    });
    await Promise.all(folders.map(folder => publishScript(folder, { cwd: world.cwd })));
    expect(listScripts(world.cwd).scripts[0]?.versions).toHaveLength(8);
  });

  test('that this user did not publish here are refused by name', async () => {
    const world = new PublishWorld();
    await published(world, '1.0.0');
    const journal = stored(world, 'echo', 'journal.ndjson');
    const [line = ''] = readFileSync(journal, 'utf8').split('\n');
    // A line of another script does not count for this one.
    cpSync(stored(world, 'echo'), stored(world, 'other'), { recursive: true });
    writeFileSync(journal, `${line.replace('ada', 'eve')}\n`);
    const { scripts, refused } = listScripts(world.cwd);
    expect(scripts).toEqual([]);
    expect(refused.map(({ name }) => name)).toEqual(['echo', 'other']);
    expect(refused[0]?.message).toMatch(/was not published by you on this machine/);
  });

  test('survive a line that a crash cut off', async () => {
    const world = new PublishWorld();
    await published(world, '1.0.0');
    appendFileSync(stored(world, 'echo', 'journal.ndjson'), '{"is":"withdr');
    expect(current(world)).toBe('1.0.0');
    await published(world, '1.1.0');
    expect(current(world)).toBe('1.1.0');
    expect(listScripts(world.cwd).scripts[0]?.versions).toHaveLength(2);
  });
});
