import { existsSync, readdirSync, statSync } from 'node:fs';
import type { Job } from '../job.ts';

/**
 * The arguments of bubblewrap for /proc: that of the sandbox's own processes, without what describes the machine. The kernel
 * can leave out everything but processes (subset=pid), yet programs need cpuinfo, meminfo and stat. So Proctor covers
 * what they do not need, one by one; each cover takes about 0.15 ms of a launch.
 */
export function procFor({ guarded }: Pick<Job, 'guarded'>): string[] {
  covers ??= COVERED.filter(existsSync).flatMap(cover);
  // Read-only, /proc/PID/mem cannot be written to.
  return ['--proc', '/proc', ...covers, ...(guarded ? ['--remount-ro', '/proc'] : [])];
}

/** The same for as long as the kernel runs. */
let covers: readonly string[] | undefined;

/** A device that cannot be opened covers a file; an empty folder that cannot be written to covers a folder. */
function cover(place: string): string[] {
  if (!statSync(place).isDirectory()) return ['--ro-bind', '/dev/null', place];
  if (readdirSync(place).length === 0) return [];
  return ['--size', '4096', '--tmpfs', place, '--remount-ro', place];
}

const COVERED: readonly string[] = [
  // bubblewrap itself, which runs as the same user: a program could write to its memory.
  '/proc/1',
  // How the kernel was started and built, and where it lies in memory.
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/kallsyms',
  '/proc/modules',
  // Which machine this is, since when it runs, and its hardware.
  '/proc/sys/kernel/random/boot_id',
  '/proc/acpi',
  '/proc/asound',
  '/proc/bus',
  '/proc/fs',
  '/proc/scsi',
  // What happens on it: input devices, keys of the same user, tasks under old kernels.
  '/proc/interrupts',
  '/proc/keys',
  '/proc/sched_debug',
];
