/** `npm start` on machines that lack something: it shows what works, says once what does not, and succeeds. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, temporaryFolder, unhurried } from '../support/support.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** In a new user namespace the caller is root, so it can mount and can forbid nested namespaces. */
const APART: readonly [string, ...string[]] = ['unshare', '--user', '--map-root-user', '--mount', '/bin/sh', '-c'];
const canBeApart = spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'true']).status === 0;

const NO_BWRAP = 'mount --bind /dev/null /usr/bin/bwrap';
const NO_NAMESPACES = 'echo 0 > /proc/sys/user/max_user_namespaces';

/** The Proctor commands that the demo runs, in order. */
const commandsIn = (said: string): string[] =>
  [...said.matchAll(/^\$ proctor (\w+(?: \w+)?)/gm)].map(([, words]) => words as string);

describe.runIf(isRoot && canBeApart)('npm start', () => {
  test('shows an ordinary user without control groups everything, with standard isolation', () => {
    const { status, said } = start('true');
    expect(status, said).toBe(0);
    expect(new Set(commandsIn(said))).toEqual(
      new Set([
        'run script',
        'show latest',
        'verify latest',
        'run agent',
        'apply latest',
        'run suite',
        'compare baseline',
        'resend baseline',
        'verify',
        'run intent',
        'reproduce latest',
      ]),
    );
    expect(said).toContain('run intent examples/intent/build-config.json --policy default');
    expect(said.match(/systemd-run --user --scope/g)).toHaveLength(1);
  });

  test.each([
    ['bubblewrap', NO_BWRAP, 'Not installed: bwrap.', 'apt-get install --yes bubblewrap'],
    [
      'namespaces',
      NO_NAMESPACES,
      'The sandbox does not start on this machine.',
      'sysctl -w user.max_user_namespaces=15000',
    ],
  ])('shows suites without %s, and says once what is missing and the command that adds it', (_, deed, why, command) => {
    const { status, said } = start(deed, APART);
    expect(status, said).toBe(0);
    expect(commandsIn(said)).toEqual(['run suite', 'run suite', 'compare baseline', 'resend baseline', 'verify']);
    expect(said.split('Not shown: scripts, agents and intents, because the sandbox does not work here.')).toHaveLength(
      2,
    );
    expect(said.split(why)).toHaveLength(2);
    expect(said.split(command)).toHaveLength(2);
    expect(said).not.toMatch(/^error:/m);
  });
});

/** Runs the demo as an ordinary user, in a copy of the checkout, after a change to the machine. */
function start(
  deed: string,
  around: readonly [string, ...string[]] = ['/bin/sh', '-c'],
): { status: number | null; said: string } {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const [checkout, home] = [path.join(folder, 'checkout'), path.join(folder, 'home')];
  for (const made of [checkout, home]) mkdirSync(made);
  for (const name of ['dist', 'examples', 'helpers', 'scripts', 'src', 'stand-ins', 'package.json', 'tsconfig.json'])
    cpSync(path.join(ROOT, name), path.join(checkout, name), { recursive: true });
  const modules = path.join(checkout, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(path.join(ROOT, 'node_modules')).filter(each => !each.startsWith('.v')))
    symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, name));
  for (const made of [checkout, modules, home]) chownSync(made, NOBODY, NOBODY);
  const [program, ...args] = around;
  const { status, stdout, stderr } = spawnSync(program, [...args, `${deed} && exec npm start --silent`], {
    cwd: checkout,
    uid: NOBODY,
    gid: NOBODY,
    env: { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', NO_COLOR: '1' },
    encoding: 'utf8',
    timeout: 300_000,
  });
  return { status, said: unhurried(stdout + stderr) };
}
