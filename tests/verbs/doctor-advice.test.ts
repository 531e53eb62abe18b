import { describe, expect, test } from 'vitest';
import type { Machine } from '../../src/execute/host/machine.ts';
import { adviceFor, type MachineSettings } from '../../src/verbs/doctor-advice.ts';

const MACHINE: Machine = {
  cgroups: 'v2',
  dividesCpus: true,
  countsSockets: true,
  seccomp: true,
  missing: [],
  isRoot: false,
  bootId: 'boot',
};
const here = (settings: Readonly<Record<string, string>>, ...managers: string[]): MachineSettings => ({
  managers,
  setting: name => settings[name],
});
const STRICT = { works: true, isStrict: true };
const BROKEN = { works: false, isStrict: false };

describe('the advice of doctor', () => {
  test('is empty if everything works', () => {
    expect(adviceFor(MACHINE, STRICT, here({}))).toEqual([]);
  });

  test.each([
    ['apt-get', 'sudo apt-get install --yes bubblewrap util-linux'],
    ['dnf', 'sudo dnf install --assumeyes bubblewrap util-linux'],
    ['zypper', 'sudo zypper install --no-confirm bubblewrap util-linux'],
    ['pacman', 'sudo pacman -S --noconfirm bubblewrap util-linux'],
    ['apk', 'sudo apk add bubblewrap util-linux'],
  ])('names the %s command that installs the missing programs', (manager, command) => {
    const machine = { ...MACHINE, missing: ['/usr/bin/bwrap', '/usr/bin/unshare', '/usr/bin/setpriv'] };
    expect(adviceFor(machine, BROKEN, here({}, manager))).toEqual([`Install the missing programs: ${command}`]);
  });

  test('omits sudo for root, and names only the packages without a known package manager', () => {
    const machine = { ...MACHINE, isRoot: true, missing: ['/usr/bin/bwrap'] };
    expect(adviceFor(machine, BROKEN, here({}, 'apt-get'))).toEqual([
      'Install the missing programs: apt-get install --yes bubblewrap',
    ]);
    expect(adviceFor(machine, BROKEN, here({}))).toEqual(['Install bubblewrap.']);
  });

  test.each([
    ['user.max_user_namespaces', '0', 'sudo sysctl -w user.max_user_namespaces=15000'],
    ['kernel.unprivileged_userns_clone', '0', 'sudo sysctl -w kernel.unprivileged_userns_clone=1'],
    [
      'kernel.apparmor_restrict_unprivileged_userns',
      '1',
      'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
    ],
  ])('names the one setting that forbids namespaces: %s', (name, value, command) => {
    const advice = adviceFor(MACHINE, BROKEN, here({ [name]: value }));
    expect(advice).toHaveLength(1);
    expect(advice[0]).toContain(`Allow them: ${command}`);
  });

  test('suspects the container if no setting forbids namespaces', () => {
    const settings = { 'user.max_user_namespaces': '15000', 'kernel.unprivileged_userns_clone': '1' };
    expect(adviceFor(MACHINE, BROKEN, here(settings))[0]).toMatch(/^In a container, its seccomp filter/);
  });

  test('says how to get control groups if only those are missing', () => {
    const machine = { ...MACHINE, cgroups: 'none' } as const;
    const standard = { works: true, isStrict: false };
    expect(adviceFor(machine, standard, here({}))[0]).toContain('systemd-run --user --scope -p Delegate=yes');
    expect(adviceFor({ ...machine, isRoot: true }, standard, here({}))[0]).toContain('/sys/fs/cgroup');
  });
});
