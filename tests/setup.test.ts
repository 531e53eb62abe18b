/** scripts/setup.sh on machines that lack packages. Stand-ins replace the programs that would change the machine. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, temporaryFolder } from './support/support.ts';

const COMMAND =
  'apt-get update && apt-get install --yes --no-install-recommends git coreutils bubblewrap util-linux openssl';

/** Runs setup.sh with a PATH of stand-ins. Returns what it printed, and the commands that it ran. */
function setUp(mode: string, { uid, sudo, apt = true }: { uid: number; sudo: 'free' | 'locked'; apt?: boolean }) {
  const folder = temporaryFolder();
  const log = path.join(folder, 'log');
  const program = (name: string, body: string): void => {
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${body}\n`);
    chmodSync(path.join(folder, name), 0o755);
  };
  for (const name of ['bash', 'sh', 'dirname', 'true']) symlinkSync(path.join('/bin', name), path.join(folder, name));
  program('id', `echo ${uid}`);
  program('sudo', sudo === 'free' ? `echo "sudo $*" >> ${log}; shift; exec "$@"` : 'exit 1');
  if (apt) program('apt-get', `echo "apt-get $*" >> ${log}`);
  const { status, stdout, stderr } = spawnSync('/bin/bash', [path.join(ROOT, 'scripts', 'setup.sh'), mode], {
    env: { PATH: folder },
    encoding: 'utf8',
  });
  return { status, said: stdout + stderr, ran: existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [] };
}

const INSTALLED = COMMAND.split(' && ');

describe('setup.sh, if packages are missing,', () => {
  test('installs them as root', () => {
    expect(setUp('', { uid: 0, sudo: 'locked' })).toEqual({ status: 0, said: '', ran: INSTALLED });
  });

  test('says that it installs them with passwordless sudo', () => {
    const { status, said, ran } = setUp('', { uid: 1000, sudo: 'free' });
    expect(status).toBe(0);
    expect(said).toBe(
      'Proctor needs system packages that are not installed: git coreutils bubblewrap util-linux openssl. Installing them with sudo, which asks for no password here.\n',
    );
    expect(ran.filter(line => line.startsWith('apt-get'))).toEqual(INSTALLED);
  });

  test('prints the exact command to an ordinary user, and fails', () => {
    expect(setUp('', { uid: 1000, sudo: 'locked' })).toEqual({
      status: 1,
      said: `Proctor needs system packages that are not installed. Run this once, then try again:\n  sudo sh -c '${COMMAND}'\n`,
      ran: [],
    });
  });

  test.each([
    ['an ordinary user', { uid: 1000, sudo: 'locked' }],
    ['root on a system without apt', { uid: 0, sudo: 'locked', apt: false }],
  ] as const)('lets the demo start for %s', (_, machine) => {
    expect(setUp('start', machine)).toEqual({ status: 0, said: '', ran: [] });
  });
});
