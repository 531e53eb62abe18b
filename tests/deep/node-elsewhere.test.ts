/** Intents and agents on a Node outside of /usr, as nvm installs it. */
import { chownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { Home, NVM } from '../support/home.ts';
import { ROOT } from '../support/support.ts';

const launcher = openLauncher();
const { missing, isRoot } = await launcher.machine();
await launcher.close();
const NOBODY = 65_534;

const users = [
  ['the current user', {}],
  ...(isRoot ? ([['an ordinary user', { uid: NOBODY }]] as const) : []),
] as const;

describe.runIf(missing.length === 0)('with Node in a home folder', () => {
  test.each(users)('an intent of %s runs on it, and reproduces', (_, user) => {
    const home = new Home(NVM);
    const intent = path.join(ROOT, 'examples', 'intent', 'build-config.json');
    const words = ['run', 'intent', intent, '--mode', 'execute-sandbox'];
    const ran = home.proctor(words, user);
    expect(ran.code, ran.stderr).toBe(0);
    const again = home.proctor(['reproduce', 'latest'], user);
    expect(again.code, again.stderr).toBe(0);
  });

  test('an intent whose profile lists programs gets only those', () => {
    const home = new Home(NVM);
    const lists = `
      import { existsSync, readdirSync, writeFileSync } from 'node:fs';
      import path from 'node:path';
      const bin = path.dirname(process.execPath);
      writeFileSync('out/seen.json', JSON.stringify([readdirSync(bin), readdirSync(path.dirname(bin)), existsSync('/usr/bin')]));`;
    const intent = {
      goal: 'List the programs',
      files: [{ path: 'list.mjs', content: lists }],
      commands: [{ argv: ['node', 'list.mjs'], makes: ['out/seen.json'] }],
      outputs: ['out/seen.json'],
    };
    home.file('intent.json', JSON.stringify(intent));
    const profile = {
      name: 'only-node',
      allow_network: false,
      timeout_ms: 20_000,
      max_output_files: 10,
      max_total_output_bytes: 1_000_000,
      allowed_commands: ['node'],
      allowed_write_roots: ['out'],
    };
    home.file('only-node.json', JSON.stringify(profile));
    const ran = home.proctor([
      'run',
      'intent',
      'intent.json',
      '--policy',
      'only-node.json',
      '--mode',
      'execute-sandbox',
    ]);
    expect(ran.code, ran.stderr).toBe(0);
    const runs = path.join(home.cwd, '.proctor', 'runs', 'intent');
    const seen = readFileSync(path.join(runs, readdirSync(runs)[0] as string, 'output', 'out', 'seen.json'), 'utf8');
    expect(JSON.parse(seen)).toEqual([['node'], ['bin'], false]);
  });

  test.each(users)('an agent of %s runs on it', (_, user) => {
    const home = new Home(NVM);
    const bin = path.join(home.folder, 'bin');
    mkdirSync(bin);
    placeAgent('claude', bin);
    gitIn(home.cwd, 'init', '-q', '-b', 'main');
    home.file('README.md', 'A project.\n');
    gitIn(home.cwd, 'add', '--all');
    gitIn(home.cwd, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'One');
    if ('uid' in user) chownAll(home.cwd, NOBODY);
    const env = { PATH: `${bin}:${process.env.PATH}`, ANTHROPIC_API_KEY: 'an-unused-key' };
    const ran = home.proctor(['run', 'agent', '--agent', 'claude', '--task', 'DO=write', '--policy', 'edit'], {
      ...user,
      env,
    });
    expect(ran.code, ran.stderr).toBe(0);
  });
});

function chownAll(folder: string, uid: number): void {
  for (const name of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
    chownSync(path.join(folder, name), uid, uid);
}
