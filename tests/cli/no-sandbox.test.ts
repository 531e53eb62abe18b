/** Machines that lack the programs for a sandbox, or forbid namespaces. */
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Place, place } from '../support/runs.ts';
import { ROOT, unhurried } from '../support/support.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** In a new user namespace the caller is root, so it can mount and can forbid nested namespaces. */
const APART = ['--user', '--map-root-user', '--mount'];
const canBeApart = spawnSync('unshare', [...APART, 'true']).status === 0;

/** Runs the command line after a change to the machine. */
function proctorAfter(deed: string, here: Place, args: readonly string[], uid?: number) {
  const command = `${deed} && exec "$0" "$@"`;
  const words = [process.execPath, path.join(ROOT, 'dist', 'proctor.js'), ...args];
  const { status, stdout, stderr } = spawnSync('unshare', [...APART, '/bin/sh', '-c', command, ...words], {
    cwd: here.cwd,
    env: { ...process.env, NO_COLOR: '1', npm_lifecycle_event: '', TMPDIR: here.temp },
    encoding: 'utf8',
    timeout: 60_000,
    ...(uid !== undefined && { uid, gid: uid }),
  });
  return { code: status, stdout, stderr: unhurried(stderr) };
}

const TAKEN = 'mount --bind /dev/null /usr/bin/bwrap';
const FORBIDDEN = 'echo 0 > /proc/sys/user/max_user_namespaces';

describe.runIf(canBeApart)('a machine', () => {
  test('without bubblewrap rejects a run and says what to install', () => {
    const here = furnished();
    expect(proctorAfter(TAKEN, here, ['run', 'script', 'ok.py'])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: The sandbox needs programs that are not installed: bwrap. Run proctor doctor to see how to install them, or use --sandbox none to run without isolation.\n',
    });
    expect(readdirSync(here.cwd)).toEqual(['ok.py']);
    const { code, stdout } = proctorAfter(TAKEN, here, ['doctor']);
    expect(code).toBe(1);
    const json = proctorAfter(TAKEN, here, ['doctor', '--json']);
    expect(json.code).toBe(1);
    const { sandboxes } = JSON.parse(json.stdout) as { sandboxes: object[] };
    expect(sandboxes[0]).toMatchObject({
      name: 'process',
      works: false,
      isolation: 'none',
      enforces: [],
      observed: [],
    });
    expect(stdout).toMatch(
      /^✗ sandbox process {2}does not work here\n {4}Not installed: bwrap\.\n {4}to do {5}Install the missing programs: .* bubblewrap\n/,
    );
  });

  // With control groups, the sandbox fails when it joins them; without them, it fails when it mounts its disk.
  test.each([['the current user', undefined], ...(isRoot ? ([['an ordinary user', NOBODY]] as const) : [])] as const)(
    'that forbids namespaces to %s rejects a run and says why',
    (_, uid) => {
      const here = furnished();
      expect(proctorAfter(FORBIDDEN, here, ['run', 'script', 'ok.py'], uid)).toEqual({
        code: 2,
        stdout: '',
        stderr: 'error: The sandbox does not start on this machine. Run `proctor doctor`.\n',
      });
      expect(readdirSync(here.cwd)).toEqual(['ok.py']);
      const { code, stdout } = proctorAfter(FORBIDDEN, here, ['doctor'], uid);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^✗ sandbox process {2}does not work here\n {4}The sandbox does not start on this machine\. \(unshare: [^\n]+\)\n(?: {4}lacks [^\n]+\n)? {4}to do {5}This machine does not allow user namespaces\. Allow them: (?:sudo )?sysctl -w user\.max_user_namespaces=15000\n/,
      );
    },
  );
});

function furnished(): Place {
  const here = place();
  chmodSync(here.cwd, 0o777);
  here.file('ok.py', 'import proctor_tool\nproctor_tool.succeed()\n');
  return here;
}
