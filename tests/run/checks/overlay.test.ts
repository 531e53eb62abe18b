import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readOverlay } from '../../../src/run/checks/overlay.ts';
import { put } from '../../execute/worktree/clone-world.ts';
import { temporaryFolder } from '../../support/support.ts';

/** Proctor's message about the overlay that `fill` creates, or `fine`. */
function said(fill: (top: string) => void): string {
  const top = temporaryFolder();
  fill(top);
  try {
    readOverlay(top, '/', 'unit');
    return 'fine';
  } catch (error) {
    return (error as Error).message;
  }
}

const named = (name: Uint8Array | string) => (top: string) =>
  writeFileSync(Buffer.concat([Buffer.from(`${top}/`), Buffer.from(name)]), 'x');

test.each<readonly [string, (top: string) => void, RegExp]>([
  ['a link', top => symlinkSync('/etc/passwd', path.join(top, 'x')), /a link or a special file/],
  ['a link to a folder', top => symlinkSync('/etc', path.join(top, 'x')), /a link or a special file/],
  ['a FIFO', top => void spawnSync('mkfifo', [path.join(top, 'x')]), /a link or a special file/],
  ['a name with a control character', named('a\nb'), /a name that is not allowed/],
  ['a name that is not UTF-8', named(Uint8Array.of(0x61, 0xff)), /a name that is not allowed/],
  ['a name with a backslash and dots', named('..\\x'), /a name that is not allowed/],
  ['.git', top => put(top, { 'a/.git/config': 'x' }), /a name that is not allowed/],
  ['.GIT', top => put(top, { '.GIT': 'x' }), /a name that is not allowed/],
  ['nothing', () => undefined, /is empty/],
  ['only folders', top => mkdirSync(path.join(top, 'a')), /is empty/],
  [
    'more than 64 MiB',
    top => {
      for (const name of ['a', 'b']) {
        writeFileSync(path.join(top, name), '');
        truncateSync(path.join(top, name), 33 * 1024 * 1024);
      }
    },
    /larger than 64 MiB/,
  ],
  [
    'a file of more than 64 MiB',
    top => {
      writeFileSync(path.join(top, 'a'), '');
      truncateSync(path.join(top, 'a'), 2 ** 40);
    },
    /larger than 64 MiB/,
  ],
])('refuses an overlay with %s', (_what, fill, says) => {
  const message = said(fill);
  expect(message).toMatch(says);
  expect(message).not.toContain('/tmp');
});

test('refuses more than 10,000 files', () => {
  const message = said(top => {
    writeFileSync(path.join(top, '0'), 'x');
    for (let index = 1; index <= 10_000; index++) linkSync(path.join(top, '0'), path.join(top, String(index)));
  });
  expect(message).toMatch(/more than 10,000 files/);
});

test('refuses a file, a link and a missing folder as an overlay', () => {
  const top = temporaryFolder();
  put(top, { file: 'x', 'folder/x': 'x' });
  symlinkSync('folder', path.join(top, 'link'));
  for (const name of ['file', 'link', 'missing'])
    expect(() => readOverlay(name, top, 'unit'), name).toThrow(/is not a folder/);
});

test('refuses a path with a NUL character, with a message', () => {
  const top = temporaryFolder();
  expect(() => readOverlay('a\0b', top, 'unit')).toThrow(/is not a folder|cannot be read/);
});

test('hashes names, contents and modes', () => {
  const hash = (files: Record<string, string>, mode = ''): string => {
    const top = temporaryFolder();
    put(top, files);
    if (mode !== '') spawnSync('chmod', [mode, path.join(top, 'a')]);
    return readOverlay(top, '/', 'unit').sha256;
  };
  const one = hash({ a: '1', 'b/c': '2' });
  expect(hash({ 'b/c': '2', a: '1' })).toBe(one);
  const others = [hash({ a: '2', 'b/c': '2' }), hash({ a: '1', 'b/d': '2' }), hash({ a: '1', 'b/c': '2' }, '755')];
  expect(new Set([one, ...others]).size).toBe(4);
});
