import { chmodSync, cpSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { folderDigest, MOUNT_LIMITS } from '../../../src/execute/worktree/mount-digest.ts';
import { temporaryFolder } from '../../support/support.ts';
import { put } from './clone-world.ts';

function folderWith(files: Record<string, string>): string {
  const folder = path.join(temporaryFolder(), 'deps');
  mkdirSync(folder);
  put(folder, files);
  return folder;
}

const told = (folder: string, left = MOUNT_LIMITS as { entries: number; bytes: number }) =>
  folderDigest(folder, left).catch((error: Error) => error.message);

test('depends on names, modes and contents, and on nothing else', async () => {
  const folder = folderWith({ 'a/index.js': 'one', 'a.js': 'x', 'b/c': '' });
  symlinkSync('../a/index.js', path.join(folder, 'b/link'));
  const first = await told(folder);
  expect(first).toMatchObject({ entries: 6, bytes: 4 });
  const copy = path.join(temporaryFolder(), 'elsewhere');
  cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
  expect(await told(copy)).toEqual(first);
  const steps: (() => void)[] = [
    () => put(copy, { 'a/index.js': 'two' }),
    () => chmodSync(path.join(copy, 'a.js'), 0o755),
    () => renameSync(path.join(copy, 'b/c'), path.join(copy, 'b/d')),
    () => mkdirSync(path.join(copy, 'empty')),
    () => symlinkSync('a.js', path.join(copy, 'other')),
  ];
  const seen = new Set([JSON.stringify(first)]);
  for (const step of steps) {
    step();
    seen.add(JSON.stringify(await told(copy)));
  }
  expect(seen.size).toBe(steps.length + 1);
});

test('can be computed with standard tools', async () => {
  const folder = folderWith({ x: 'hello', 'd/y': '' });
  chmodSync(path.join(folder, 'x'), 0o644);
  chmodSync(path.join(folder, 'd/y'), 0o755);
  const script = String.raw`h() { printf %s "$1" | sha256sum | cut -d' ' -f1; }
    { printf '040000 - d\0'; printf '100755 %s d/y\0' "$(h '')"; printf '100644 %s x\0' "$(h hello)"; } | sha256sum | cut -d' ' -f1`;
  const sha = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trim();
  expect(await told(folder)).toMatchObject({ sha256: `sha256:${sha}` });
});

test('refuses links that leave the folder, special files, and folders beyond the limits', async () => {
  const absolute = folderWith({});
  symlinkSync('/etc/passwd', path.join(absolute, 'evil'));
  expect(await told(absolute)).toMatch(/evil is a symlink that leaves the folder/);
  const above = folderWith({ 'd/x': '' });
  symlinkSync('../../out', path.join(above, 'd/up'));
  expect(await told(above)).toMatch(/d\/up is a symlink that leaves the folder/);
  // Its text stays inside, but `down` is the top of the folder.
  const chained = folderWith({ 'p/q/r/x': '' });
  symlinkSync('../../..', path.join(chained, 'p/q/r/down'));
  symlinkSync('p/q/r/down/..', path.join(chained, 'sly'));
  expect(await told(chained)).toMatch(/sly is a symlink that leaves the folder/);
  const inside = folderWith({ x: '' });
  symlinkSync('nowhere', path.join(inside, 'dangling'));
  symlinkSync('.', path.join(inside, 'self'));
  expect(await told(inside)).toMatchObject({ entries: 3 });
  const special = folderWith({});
  execFileSync('mkfifo', [path.join(special, 'pipe')]);
  expect(await told(special)).toMatch(/pipe is a fifo/);
  const large = folderWith({ a: '12345', b: '' });
  expect(await told(large, { entries: 1, bytes: 100 })).toMatch(/too large to hash/);
  expect(await told(large, { entries: 9, bytes: 4 })).toMatch(/too large to hash/);
});
