import { readFileSync } from 'node:fs';
import { findProgram, isProgram } from './programs.ts';

/** What this machine offers, as far as looking can tell. Whether a sandbox really works is only known by running one. */
export interface Machine {
  readonly cgroups: 'v1' | 'v2' | 'none';
  /** Why the control groups are not better. */
  readonly cgroupsReason?: string;
  /** Whether control groups can give a run a share of the processors. */
  readonly dividesCpus: boolean;
  /** Whether control groups bound the buffers of TCP and UDP sockets. */
  readonly countsSockets: boolean;
  readonly seccomp: boolean;
  /** Programs that the process sandbox is made of and that are not installed. */
  readonly missing: readonly string[];
  readonly isRoot: boolean;
  /** Another one after every start of the machine. */
  readonly bootId: string;
}

/** What the control groups of this machine offer. */
interface ControlGroups extends Pick<Machine, 'dividesCpus' | 'countsSockets'> {
  readonly version: Machine['cgroups'];
  readonly reason?: string;
}

export function lookAt({ version, reason, dividesCpus, countsSockets }: ControlGroups, seccomp: boolean): Machine {
  return {
    cgroups: version,
    ...(reason !== undefined && { cgroupsReason: reason }),
    dividesCpus,
    countsSockets,
    seccomp,
    missing: process.platform === 'linux' ? PARTS.filter(file => !isProgram(file)) : PARTS,
    isRoot: process.getuid?.() === 0,
    bootId: bootId(),
  };
}

/** bubblewrap, and what else makes the process sandbox. */
const PARTS: readonly string[] = [
  '/usr/bin/bwrap',
  '/usr/bin/unshare',
  '/usr/bin/setpriv',
  '/usr/bin/prlimit',
  '/bin/sh',
];

export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

/** The interpreters that a script may ask for, and where a sandbox finds each. */
export function interpreters(): { readonly name: string; readonly path: string | undefined }[] {
  return ['python3', 'node', 'bash', 'sh', 'perl', 'ruby'].map(name => ({ name, path: findProgram(name) }));
}
