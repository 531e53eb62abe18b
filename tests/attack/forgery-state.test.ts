/** Proctor does not trust a state folder that others can write to, or times set by others. */
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { useStateFolder } from '../../src/base/state-folder.ts';
import { proctor, proveJournal, type Ran, temporaryFolder } from '../support/support.ts';
import { plantScript, runFolder, SCRIPT_RUN } from './forgery-world.ts';

const isRoot = process.getuid?.() === 0;

/** A user's project with this state folder. */
function world(): { cwd: string; states: string; state: string; proctor: (...args: string[]) => Ran } {
  const root = temporaryFolder();
  const cwd = path.join(root, 'project');
  const states = path.join(root, 'states');
  for (const folder of [cwd, states]) mkdirSync(folder);
  writeFileSync(path.join(cwd, 'ok.py'), 'import proctor_tool\nproctor_tool.succeed()\n');
  const run = (...args: string[]): Ran => proctor(args, { cwd, env: { XDG_STATE_HOME: states } });
  return { cwd, states, state: path.join(states, 'proctor'), proctor: run };
}

const script = ['run', 'script', 'ok.py', '--sandbox', 'none', '--json'];
const warningsOf = ({ stdout }: Ran): string[] => (JSON.parse(stdout) as { warnings: string[] }).warnings;
const warning = (why: string) => expect.stringMatching(new RegExp(`^state_folder: .*${why}.*cannot be recovered`));

afterEach(() => useStateFolder(path.join(String(process.env['XDG_STATE_HOME']), 'proctor')));

describe('a state folder', () => {
  test('is private to its owner, with one key for all runs', () => {
    const { state, proctor: run } = world();
    const ran = run(...script);
    expect(ran.code, ran.stderr).toBe(0);
    expect(warningsOf(ran).filter(text => text.startsWith('state_folder'))).toEqual([]);
    const key = readFileSync(path.join(state, 'journal.key'));
    expect(key).toHaveLength(32);
    expect(readdirSync(state).filter(name => name.endsWith('.tmp'))).toEqual([]);
    expect([state, path.join(state, 'journal.key')].map(file => statSync(file).mode & 0o777)).toEqual([0o700, 0o600]);
    run(...script);
    expect(readFileSync(path.join(state, 'journal.key'))).toEqual(key);
  });

  const loose: readonly (readonly [string, string, (state: string) => void])[] = [
    ['is a symbolic link', 'symbolic link', state => symlinkSync(temporaryFolder(), state)],
    ['others can write to', 'open to other users', state => (mkdirSync(state), chmodSync(state, 0o777))],
    ['others can read', 'open to other users', state => (mkdirSync(state), chmodSync(state, 0o755))],
    ['is a file', 'cannot be used|not a folder', state => writeFileSync(state, '')],
  ];

  test.each(loose)('that %s gets no key: the run continues and warns that it cannot be recovered', (_, why, loosen) => {
    const { state, proctor: run } = world();
    loosen(state);
    const ran = run(...script);
    expect(ran.code, ran.stderr).toBe(0);
    expect(warningsOf(ran)).toContainEqual(warning(why));
    expect(existsSync(path.join(state, 'journal.key'))).toBe(false);
  });

  test.each(loose.slice(0, 3))('that %s cannot authenticate a journal', (_, _why, loosen) => {
    const { cwd, states, state, proctor: run } = world();
    // An attacker has read the key and writes a journal with it.
    useStateFolder(path.join(states, 'theirs'));
    proveJournal(plantScript(cwd));
    loosen(state);
    cpSync(path.join(states, 'theirs', 'journal.key'), path.join(state, 'journal.key'));
    chmodSync(path.join(state, 'journal.key'), 0o600);
    expect(run('recover').stdout).toContain('you did not start it on this machine');
    expect(existsSync(path.join(runFolder(cwd, 'script', SCRIPT_RUN), 'evidence', 'seal.json'))).toBe(false);
  });

  test.each([
    ['others can read', (file: string) => chmodSync(file, 0o644)],
    ['is a link', (file: string) => (renameSync(file, `${file}.real`), symlinkSync(`${file}.real`, file))],
    ['was cut off', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 16))],
  ])('with a key that %s cannot authenticate a journal', (_, spoil) => {
    const { cwd, state, proctor: run } = world();
    useStateFolder(state);
    proveJournal(plantScript(cwd));
    spoil(path.join(state, 'journal.key'));
    expect(run('recover').stdout).toContain('you did not start it on this machine');
  });

  test.runIf(isRoot)('that belongs to another user gets no key', () => {
    const { state, proctor: run } = world();
    mkdirSync(state, { mode: 0o700 });
    chownSync(state, 65_533, 65_533);
    expect(warningsOf(run(...script))).toContainEqual(warning('belongs to another user'));
  });

  test('that was lost leaves runs that can be read but not completed', () => {
    const { cwd, states, state, proctor: run } = world();
    useStateFolder(state);
    proveJournal(plantScript(cwd));
    renameSync(state, path.join(states, 'lost'));
    expect(run('recover').stdout).toContain('you did not start it on this machine');
    renameSync(path.join(states, 'lost'), state);
    renameSync(cwd, `${cwd}-renamed`);
    const { stdout } = proctor(['recover'], { cwd: `${cwd}-renamed`, env: { XDG_STATE_HOME: states } });
    expect(stdout).toContain('its run folder is complete now');
  });
});

describe('latest', () => {
  const latest = ({ stdout }: Ran): unknown => (JSON.parse(stdout) as { run_id: string }).run_id;

  test('is never a run whose id names a future time', () => {
    const { cwd, proctor: run } = world();
    expect(run(...script).code).toBe(0);
    const id = latest(run('show', 'latest', '--json'));
    const own = runFolder(cwd, 'script', String(id));
    for (const planted of ['script_20990101_000000_aaaaaaaaaaaa', 'script_99999999_999999_aaaaaaaaaaaa']) {
      cpSync(own, runFolder(cwd, 'script', planted), { recursive: true });
    }
    plantScript(cwd, 'script_20991231_000000_aaaaaaaaaaaa');
    expect(latest(run('show', 'latest', '--json'))).toBe(id);
    expect(run('verify', 'latest').stdout).toContain(String(id));
  });

  test('is never a run whose metadata names a future time', () => {
    const { cwd, proctor: run } = world();
    expect(run(...script).code).toBe(0);
    const id = latest(run('show', 'latest', '--json'));
    const planted = runFolder(cwd, 'script', 'newest');
    cpSync(runFolder(cwd, 'script', String(id)), planted, { recursive: true });
    for (const started of ['2099-01-01T00:00:00.000Z', '+275760-09-13T00:00:00.000Z']) {
      const file = path.join(planted, 'evidence', 'metadata.json');
      writeFileSync(file, JSON.stringify({ started_at: started }));
      expect(path.basename((JSON.parse(run('show', '--json').stdout) as { folder: string }).folder)).toBe(id);
    }
  });

  test('is never a comparison whose id names a future time', () => {
    const { cwd, proctor: run } = world();
    put(cwd);
    expect(run('run', 'suite', 'cases.json', '--script', 'agent.py', '--as', 'new', '--run-id', 'mine').code).toBe(0);
    const planted = path.join(cwd, '.proctor', 'comparisons', 'comparison_20990101_000000_aaaaaaaaaaaa');
    mkdirSync(planted, { recursive: true });
    writeFileSync(path.join(planted, 'comparison.json'), '{}');
    const ran = run('report', 'latest', '--out', 'reports', '--format', 'json');
    expect(ran.code, ran.stderr).toBe(0);
    expect(readFileSync(path.join(cwd, 'reports', 'report.json'), 'utf8')).toContain('mine');
  });

  function put(cwd: string): void {
    writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify([{ id: 'one', input: { user: 'one' } }]));
    writeFileSync(
      path.join(cwd, 'agent.py'),
      `import json
question = json.load(open("input/case.json"))
print(json.dumps({"case_id": question["case_id"], "version": question["version"], "final_output": {"content_type": "text", "content": "yes"}}))
`,
    );
  }
});
