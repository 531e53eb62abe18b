import { existsSync, readdirSync, statSync } from 'node:fs';
import type { Job } from '../job/job.ts';

/**
 * The bubblewrap arguments for a /proc that shows only the sandbox's processes and reveals little about the machine.
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
  // The machine's identity, boot time and hardware.
  '/proc/sys/kernel/random/boot_id',
  '/proc/acpi',
  '/proc/asound',
  '/proc/bus',
  '/proc/fs',
  '/proc/scsi',
  // The machine's activity: interrupts, the same user's keys, tasks (old kernels).
  '/proc/interrupts',
  '/proc/keys',
  '/proc/sched_debug',
];
