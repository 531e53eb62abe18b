import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { quarantineOutput } from '../../../src/evidence/ingest/quarantine.ts';
import { descriptors, fifo, hollow, newWorld, write } from './world.ts';

interface Index {
  readonly complete: boolean;
  readonly masked: number;
  readonly entries: readonly Record<string, unknown>[];
}

const indexOf = (target: string): Index => JSON.parse(readFileSync(path.join(target, 'index.json'), 'utf8')) as Index;

describe('a quarantined output', () => {
  test('stores regular files under numbers and lists all other entries', async () => {
    const { base, work, output, target } = newWorld();
    write(base, 'secret', 'not for us');
    write(output, 'a/CON', 'bad name');
    symlinkSync('/etc/passwd', path.join(output, 'link'));
    fifo(path.join(output, 'pipe'));
    linkSync(path.join(base, 'secret'), path.join(output, 'second-name'));
    mkdirSync(path.join(output, 'empty'));
    writeFileSync(Buffer.concat([Buffer.from(`${output}/`), Buffer.from([0x1b, 0xff])]), 'odd');
    hollow(output, 'huge', 2 ** 40);
    const before = descriptors();
    const kept = await quarantineOutput(work, target);
    expect(descriptors()).toBe(before);
    const { entries, complete } = indexOf(target);
    expect(kept).toEqual({ entries: 7, bytes: 11, complete: true });
    expect(complete).toBe(true);
    const byName = Object.fromEntries(entries.map(({ name, ...rest }) => [name, rest]));
    expect(byName).toEqual({
      'output/a/CON': {
        kind: 'a file',
        file: expect.stringMatching(/^\d{4}\.bin$/),
        bytes: 8,
        sha256: bytesHash('bad name'),
      },
      'output/link': { kind: 'a link', link_text: '/etc/passwd' },
      'output/pipe': { kind: 'a FIFO' },
      'output/second-name': { kind: 'a file', bytes: 10, left_out: 'has more than one hard link' },
      'output/empty': { kind: 'a folder', left_out: 'empty' },
      'output/\\u{1b}\ufffd': {
        kind: 'a file',
        file: expect.stringMatching(/^\d{4}\.bin$/),
        bytes: 3,
        sha256: bytesHash('odd'),
      },
      'output/huge': { kind: 'a file', bytes: 2 ** 40, left_out: 'too large' },
    });
    for (const { file, sha256 } of entries) {
      if (typeof file === 'string') expect(bytesHash(readFileSync(path.join(target, file)))).toBe(sha256);
    }
    expect(readdirSync(target)).toHaveLength(3);
    expect(statSync(target).mode & 0o777).toBe(0o700);
  });

  test('contains no declared secret in names, links or files', async () => {
    const { work, output, target } = newWorld();
    const secrets = ['correct-horse', 'over/folders', 'two\nlines'];
    write(output, 'a-correct-horse', 'it is correct-horse, or Y29ycmVjdC1ob3JzZQ==');
    write(output, 'over/folders', 'x');
    write(output, 'two\nlines', 'x');
    symlinkSync(`/${'x'.repeat(990)}/correct-horse`, path.join(output, 'link'));
    await quarantineOutput(work, target, secrets);
    const { entries, masked } = indexOf(target);
    const shown = readdirSync(target).map(name => readFileSync(path.join(target, name), 'utf8'));
    for (const trace of ['correct-', 'over/', 'two', 'Y29ycmVjdC1ob3']) expect(shown.join('')).not.toContain(trace);
    expect(masked).toBe(6);
    const kept = entries.find(({ name }) => name === 'output/a-[masked]');
    const bytes = readFileSync(path.join(target, String(kept?.['file'])));
    expect(bytes.toString()).toMatch(/^it is \[masked\], or \[masked\].?==$/);
    expect(kept).toMatchObject({ bytes: bytes.length, sha256: bytesHash(bytes) });
  });

  test('respects its size limit even if masks are longer than secrets', async () => {
    const { work, output, target } = newWorld();
    write(output, 'a', 'x'.repeat(3 * 1024 * 1024));
    expect(await quarantineOutput(work, target, ['x'])).toEqual({ entries: 1, bytes: 0, complete: true });
    expect(indexOf(target).entries).toMatchObject([{ name: 'output/a', left_out: 'too large' }]);
  });

  test('respects its entry limit', async () => {
    const { work, output, target } = newWorld();
    for (let index = 0; index < 1_001; index++) symlinkSync('x', path.join(output, `l${index}`));
    expect(await quarantineOutput(work, target)).toEqual({ entries: 1_000, bytes: 0, complete: false });
    expect(indexOf(target).entries).toHaveLength(1_000);
  });

  test('respects its size limit', async () => {
    const { work, output, target } = newWorld();
    for (const name of ['a', 'b', 'c']) write(output, name, Buffer.alloc(4 * 1024 * 1024));
    expect(await quarantineOutput(work, target)).toEqual({ entries: 3, bytes: 8 * 1024 * 1024, complete: true });
    expect(indexOf(target).entries.filter(entry => entry['left_out'] === 'too large')).toHaveLength(1);
  });

  test('respects its depth limit', async () => {
    const { work, output, target } = newWorld();
    mkdirSync(path.join(output, ...Array.from({ length: 100 }, () => 'd')), { recursive: true });
    expect(await quarantineOutput(work, target)).toMatchObject({ entries: 1, complete: false });
  });

  test('may be a link or missing, and so may the work folder', async () => {
    const { work, output, target } = newWorld();
    rmSync(output, { recursive: true });
    expect(await quarantineOutput(work, target)).toEqual({ entries: 0, bytes: 0, complete: true });
    symlinkSync('/etc', output);
    expect(await quarantineOutput(work, target)).toEqual({ entries: 1, bytes: 0, complete: true });
    expect(indexOf(target).entries).toEqual([{ name: 'output', kind: 'a link', link_text: '/etc' }]);
    rmSync(work, { recursive: true });
    symlinkSync('/etc', work);
    expect(await quarantineOutput(work, target)).toMatchObject({ entries: 1, bytes: 0 });
  });

  test('causes a fault if its target cannot be created', async () => {
    const { base, work, output } = newWorld();
    write(output, 'x');
    await expect(quarantineOutput(work, path.join(base, 'nowhere', 'q'))).rejects.toMatchObject({ code: 'ingest_io' });
  });
});
