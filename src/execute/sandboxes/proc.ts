import { existsSync, readdirSync, statSync } from 'node:fs';
import type { Job } from '../job/job.ts';

/**
 * The bubblewrap arguments for a /proc that shows only the processes of the sandbox and does not describe the machine.
 * The kernel can hide everything but processes (subset=pid), but programs need cpuinfo, meminfo and stat. So Proctor
 * covers the other files one by one, at about 0.15 ms each.
 */
export function procFor({ guarded }: Pick<Job, 'guarded'>): string[] {
  covers ??= COVERED.filter(existsSync).flatMap(cover);
  // With a read-only /proc, nothing can write to /proc/PID/mem.
  return ['--proc', '/proc', ...covers, ...(guarded ? ['--remount-ro', '/proc'] : [])];
}

/** Never changes while the kernel runs. */
let covers: readonly string[] | undefined;

/** Covers a file with a device that cannot be opened, and a folder with an empty read-only one. */
function cover(place: string): string[] {
  if (!statSync(place).isDirectory()) return ['--ro-bind', '/dev/null', place];
  if (readdirSync(place).length === 0) return [];
  return ['--size', '4096', '--tmpfs', place, '--remount-ro', place];
}

const COVERED: readonly string[] = [
  // Bubblewrap runs as the same user, so a program could write to its memory.
  '/proc/1',
  // Kernel command line, configuration and addresses.
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/kallsyms',
  '/proc/modules',
  // The identity, boot time and hardware of the machine.
  '/proc/sys/kernel/random/boot_id',
  '/proc/acpi',
  '/proc/asound',
  '/proc/bus',
  '/proc/fs',
  '/proc/scsi',
  // Activity of the machine: interrupts, keys of the same user, tasks (old kernels).
  '/proc/interrupts',
  '/proc/keys',
  '/proc/sched_debug',
];
