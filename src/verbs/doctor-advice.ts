import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Machine } from '../execute/host/machine.ts';
import { findProgram } from '../execute/host/programs.ts';

/** What decides whether a sandbox can start, besides its programs. */
export interface MachineSettings {
  /** The package managers on this machine. */
  readonly managers: readonly string[];
  /** Kernel settings by name; undefined if the kernel lacks the setting. */
  readonly setting: (name: string) => string | undefined;
}

/** What to do so that the sandbox works, or gives strict isolation. Each sentence names the exact command. */
export function adviceFor(
  machine: Machine,
  { works, isStrict }: { readonly works: boolean; readonly isStrict: boolean },
  here: MachineSettings = thisMachine,
): string[] {
  const { missing, cgroups, isRoot } = machine;
  if (missing.length > 0) return [installing(missing, isRoot, here.managers)];
  const namespaces = works ? [] : allowingNamespaces(isRoot, here.setting);
  if (isStrict || cgroups !== 'none') return namespaces;
  return [
    ...namespaces,
    isRoot
      ? 'For strict isolation, make control groups writable. In a container, mount /sys/fs/cgroup read-write.'
      : 'For strict isolation, start Proctor in its own scope: systemd-run --user --scope -p Delegate=yes -- proctor …',
  ];
}

function installing(missing: readonly string[], isRoot: boolean, managers: readonly string[]): string {
  const names = new Set(missing.map(file => (path.basename(file) === 'bwrap' ? 'bubblewrap' : 'util-linux')));
  const [command] = MANAGERS.filter(({ name }) => managers.includes(name)).map(({ install }) => install);
  if (command === undefined) return `Install ${[...names].join(' and ')}.`;
  return `Install the missing programs: ${isRoot ? '' : 'sudo '}${command} ${[...names].join(' ')}`;
}

const MANAGERS = [
  { name: 'apt-get', install: 'apt-get install --yes' },
  { name: 'dnf', install: 'dnf install --assumeyes' },
  { name: 'zypper', install: 'zypper install --no-confirm' },
  { name: 'pacman', install: 'pacman -S --noconfirm' },
  { name: 'apk', install: 'apk add' },
] as const;

function allowingNamespaces(isRoot: boolean, setting: MachineSettings['setting']): string[] {
  const closed = CLOSED.find(({ name, value }) => setting(name) === value);
  if (!closed)
    return [
      'In a container, its seccomp filter or its settings block namespaces. Start it with --security-opt seccomp=unconfined, or run Proctor outside of it.',
    ];
  const { name, why, open, orElse } = closed;
  return [`${why} Allow them: ${isRoot ? '' : 'sudo '}sysctl -w ${name}=${open}${orElse}`];
}

/** Settings that forbid user namespaces. */
const CLOSED = [
  {
    name: 'user.max_user_namespaces',
    value: '0',
    why: 'This machine does not allow user namespaces.',
    open: '15000',
    orElse: '',
  },
  {
    name: 'kernel.unprivileged_userns_clone',
    value: '0',
    why: 'This machine allows user namespaces only for root.',
    open: '1',
    orElse: '',
  },
  {
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    value: '1',
    why: 'AppArmor blocks user namespaces for ordinary programs.',
    open: '0',
    orElse:
      '. Or allow them only for /usr/bin/bwrap and /usr/bin/unshare, with an AppArmor profile that has the rule "userns,".',
  },
] as const;

const thisMachine: MachineSettings = {
  managers: MANAGERS.map(({ name }) => name).filter(name => findProgram(name) !== undefined),
  setting(name) {
    try {
      return readFileSync(path.join('/proc/sys', ...name.split('.')), 'utf8').trim();
    } catch {
      return undefined;
    }
  },
};
