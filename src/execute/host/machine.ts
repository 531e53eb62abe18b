import { readFileSync } from 'node:fs';
import { findProgram, isProgram } from './programs.ts';

/** This machine's sandboxing features. Only running a sandbox shows whether they really work. */
export interface Machine {
  readonly cgroups: 'v1' | 'v2' | 'none';
  /** Why control groups are unavailable or limited to v1. */
  readonly cgroupsReason?: string;
  /** Whether control groups can limit a run to a share of the CPUs. */
  readonly dividesCpus: boolean;
  /** Whether control groups limit the buffers of TCP and UDP sockets. */
  readonly countsSockets: boolean;
  readonly seccomp: boolean;
  /** Programs that the process sandbox needs and that are not installed. */
  readonly missing: readonly string[];
  readonly isRoot: boolean;
  readonly bootId: string;
}

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

/** The programs that the process sandbox needs. */
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

/** The interpreters that a script may use, each with its path in a sandbox. */
export function interpreters(): { readonly name: string; readonly path: string | undefined }[] {
  return ['python3', 'node', 'bash', 'sh', 'perl', 'ruby'].map(name => ({ name, path: findProgram(name) }));
}
