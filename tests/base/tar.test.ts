import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TAR_END, TAR_FILE_BYTES_MAX, tarHead, tarPadding } from '../../src/base/tar.ts';
import { readTar, type TarEntry, type TarFault } from '../../src/base/tar-reader.ts';
import { temporaryFolder } from '../support/support.ts';

/** Typical, long and unusual paths: 1 to 400 bytes, ASCII or not. */
const segment = fc.oneof(
  fc.stringMatching(/^[a-z0-9._-]{1,60}$/).filter(name => name !== '.' && name !== '..'),
  fc.stringMatching(/^[a-z]{90,130}$/),
  fc.constantFrom('ä', '日本語', '𝒳', 'a b', "it's"),
);
const paths = fc.array(segment, { minLength: 1, maxLength: 6 }).map(segments => segments.join('/'));

const archive = (files: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat([
    ...files.flatMap(([name, text]) => {
      const bytes = Buffer.from(text);
      return [tarHead(name, bytes.length), bytes, Buffer.alloc(tarPadding(bytes.length))];
    }),
    TAR_END,
  ]);

function read(bytes: Buffer, folder: string): (TarEntry | TarFault)[] {
  const file = path.join(folder, 'a.tar');
  writeFileSync(file, bytes);
  const fd = openSync(file, 'r');
  try {
    return [...readTar(fd, bytes.length)];
  } finally {
    closeSync(fd);
  }
}

describe('an archive', () => {
  test('is read back unchanged, for any paths', () => {
    const folder = temporaryFolder();
    fc.assert(
      fc.property(fc.array(fc.tuple(paths, fc.string({ maxLength: 1_100 })), { maxLength: 5 }), files => {
        const entries = read(archive(files), folder) as TarEntry[];
        expect(entries.map(({ path: name, size }) => [name, size])).toEqual(
          files.map(([name, text]) => [name, Buffer.byteLength(text)]),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('has only one valid value for every byte outside its files', () => {
    const folder = temporaryFolder();
    const files = [
      ['a.txt', 'hello'],
      [`${'d'.repeat(100)}/${'f'.repeat(90)}`, 'x'],
      ['ä/b.txt', ''],
      [`${'long'.repeat(40)}`, 'y'.repeat(512)],
    ] as const;
    const bytes = archive(files);
    const content = new Set<number>();
    for (const { at, size } of read(bytes, folder) as TarEntry[]) for (let i = 0; i < size; i++) content.add(at + i);
    const fd = openSync(path.join(folder, 'a.tar'), 'r+');
    const missed: number[] = [];
    for (const [at, byte] of bytes.entries()) {
      if (content.has(at)) continue;
      writeSync(fd, Buffer.of(byte ^ (1 << (at % 8))), 0, 1, at);
      if (![...readTar(fd, bytes.length)].some(piece => 'fault' in piece)) missed.push(at);
      writeSync(fd, bytes, at, 1, at);
    }
    closeSync(fd);
    expect(missed).toEqual([]);
  });

  test('of any bytes is read to its end without an exception', () => {
    const folder = temporaryFolder();
    const valid = archive([
      ['a', 'hello'],
      ['ä', 'x'],
    ]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.nat(valid.length), (noise, at) => {
        const bytes = Buffer.concat([valid.subarray(0, at), noise]);
        expect(read(bytes, folder).length).toBeLessThan(20);
      }),
    );
  });

  test('is read by tar with the same names and bytes', () => {
    const folder = temporaryFolder();
    const long = `${'folder/'.repeat(30)}${'n'.repeat(200)}.txt`;
    const files = [
      ['a.txt', 'hello'],
      ['sub/b', ''],
      [long, 'long'],
      ['ünï/日本.txt', 'unicode'],
    ] as const;
    const file = path.join(folder, 'x.tar');
    writeFileSync(file, archive(files));
    const env = { ...process.env, LC_ALL: 'C.UTF-8' };
    const names = execFileSync('tar', ['--quoting-style=literal', '-tf', file], { encoding: 'utf8', env });
    expect(names.trimEnd().split('\n')).toEqual(files.map(([name]) => name));
    mkdirSync(path.join(folder, 'out'));
    execFileSync('tar', ['-xf', file, '-C', path.join(folder, 'out')], { env });
    for (const [name, text] of files) expect(readFileSync(path.join(folder, 'out', name), 'utf8')).toBe(text);
  });

  test('supports sizes up to 8 GiB', () => {
    expect(tarHead('a', TAR_FILE_BYTES_MAX).toString('latin1', 124, 136)).toBe('77777777777\0');
  });
});
