import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readOnlyIn } from '../../../src/execute/sandboxes/read-only-paths.ts';
import { temporaryFolder } from '../../support/support.ts';

test('mounts existing files and folders, and defers symlinks and missing paths', () => {
  const tree = temporaryFolder();
  mkdirSync(path.join(tree, 'docs/legal'), { recursive: true });
  writeFileSync(path.join(tree, 'a.txt'), 'a\n');
  symlinkSync('docs', path.join(tree, 'link'));
  symlinkSync('/etc/passwd', path.join(tree, 'out'));
  const paths = ['a.txt', 'a.txt/below', 'docs/legal', 'link', 'link/legal', 'new.txt', 'out', '../x', '.'];
  expect(readOnlyIn(tree, paths)).toEqual({
    mounted: ['a.txt', 'docs/legal'],
    afterwards: ['a.txt/below', 'link', 'link/legal', 'new.txt', 'out', '../x', '.'],
  });
});

test('mounts at most 100 paths, and reports the rest', () => {
  const tree = temporaryFolder();
  const names = Array.from({ length: 120 }, (_, index) => `f${index}`);
  for (const name of names) writeFileSync(path.join(tree, name), '');
  const { mounted, afterwards } = readOnlyIn(tree, names);
  expect([mounted.length, afterwards.length]).toEqual([100, 20]);
});
