import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/support.ts';

/** A work folder and a target folder. `base` contains nothing else. */
export interface World {
  readonly base: string;
  readonly work: string;
  readonly output: string;
  readonly target: string;
}

export function newWorld(): World {
  const base = temporaryFolder();
  chmodSync(base, 0o755);
  const work = path.join(base, 'work');
  const output = path.join(work, 'output');
  mkdirSync(output, { recursive: true });
  mkdirSync(path.join(base, 'store'));
  return { base, work, output, target: path.join(base, 'store', 'output') };
}

export function write(folder: string, name: string, content: string | Uint8Array = name): void {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** A sparse file. */
export function hollow(folder: string, name: string, bytes: number): void {
  write(folder, name, '');
  truncateSync(path.join(folder, name), bytes);
}

export function fifo(file: string): void {
  execFileSync('mkfifo', [file]);
}

/** Only root can create devices and mounts, so these rows exist only if the tests run as root. */
export const isRoot = process.getuid?.() === 0;

export function device(file: string, kind: 'b' | 'c', major: number, minor: number): void {
  execFileSync('mknod', [file, kind, String(major), String(minor)]);
}

export function mountMemory(folder: string, options: string): void {
  execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  onTestFinished(() => {
    execFileSync('/bin/umount', ['-l', folder]);
  });
}

export async function socket(file: string): Promise<void> {
  const server = createServer();
  await new Promise<void>(resolve => {
    server.listen(file, resolve);
  });
  onTestFinished(() => {
    server.close();
  });
}

/** Runs a function as an unprivileged user. */
export async function asNobody<T>(world: World, action: () => T | Promise<T>): Promise<T> {
  if (!isRoot) return action();
  for (const folder of [world.base, world.work, world.output, path.dirname(world.target)])
    chownSync(folder, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  try {
    return await action();
  } finally {
    process.seteuid?.(0);
  }
}

const NOBODY = 65_534;

/** The number of open descriptors of this process. */
export function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
