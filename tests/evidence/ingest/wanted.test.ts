import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ingestOutput, type OutputLimits, type OutputReading } from '../../../src/evidence/ingest/output.ts';
import { descriptors, fifo, hollow, isRoot, mountMemory, newWorld, type World, write } from './world.ts';

const LIMITS: OutputLimits = { filesMax: 10, bytesMax: 10_000, fileBytesMax: 5_000, entriesMax: 20 };

const take = ({ work, target }: World, wanted: readonly string[], limits = LIMITS): Promise<OutputReading> =>
  ingestOutput(work, target, limits, wanted);

/** The paths that were taken, or the code of the breach. A breach must leave no files and no descriptors. */
async function taken(world: World, ...wanted: string[]): Promise<string[] | string> {
  const before = descriptors();
  const reading = await take(world, wanted);
  expect(descriptors()).toBe(before);
  const store = path.dirname(world.target);
  if (!reading.ok) {
    expect(readdirSync(store)).toEqual([]);
    return reading.code;
  }
  const stored = readdirSync(store, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.relative(store, path.join(entry.parentPath, entry.name)));
  expect(stored.sort()).toEqual(reading.files.map(file => file.path).sort());
  return reading.files.map(file => file.path);
}

function worldWith(files: readonly string[]): World {
  const world = newWorld();
  for (const file of files) write(world.output, file);
  return world;
}

describe('ingestion of selected files', () => {
  test('takes only wanted files, and wanted folders completely', async () => {
    const world = worldWith(['out/c.json', 'out/d.json', 'out/sub/e', 'dist/a', 'dist/b/c', 'other/f', 'g']);
    expect(await taken(world, 'out/c.json', 'dist/')).toEqual([
      'output/dist/a',
      'output/dist/b/c',
      'output/out/c.json',
    ]);
    expect(readFileSync(path.join(world.target, 'dist/b/c'), 'utf8')).toBe('dist/b/c');
    expect(await taken(world, 'g', 'g', 'out/', 'out/c.json')).toEqual([
      'output/g',
      'output/out/c.json',
      'output/out/d.json',
      'output/out/sub/e',
    ]);
    expect(await taken(world, './')).toHaveLength(7);
    expect(await taken(world)).toEqual([]);
  });

  test('ignores missing paths, and files where a folder is wanted', async () => {
    const world = worldWith(['a', 'b/c']);
    expect(await taken(world, 'a', 'none', 'none/deep/x', 'a/x', 'a/', 'b', 'b/none', 'none/')).toEqual(['output/a']);
    rmSync(world.output, { recursive: true });
    expect(await taken(world, 'a', 'b/')).toEqual([]);
  });

  test('never inspects an unwanted entry', async () => {
    const world = worldWith(['out/wanted', 'CON', 'a', 'A', 'x\u202ey']);
    symlinkSync('/etc', path.join(world.output, 'link'));
    symlinkSync('/etc', path.join(world.output, 'out', 'link'));
    fifo(path.join(world.output, 'fifo'));
    fifo(path.join(world.output, 'out', 'fifo'));
    linkSync(path.join(world.output, 'a'), path.join(world.output, 'hard'));
    hollow(world.output, 'huge', 1e12);
    mkdirSync(path.join(world.output, Array.from({ length: 100 }, () => 'deep').join('/')), { recursive: true });
    expect(await taken(world, 'out/wanted')).toEqual(['output/out/wanted']);
  });

  test('does not list a large folder if only single files are wanted', async () => {
    const world = worldWith(['wanted', 'many/wanted']);
    for (let number = 0; number < 3_000; number++) writeFileSync(path.join(world.output, 'many', `n${number}`), '');
    // Far more than entriesMax: listing the folder would be a breach.
    expect(await taken(world, 'wanted', 'many/wanted')).toEqual(['output/many/wanted', 'output/wanted']);
    expect(await taken(world, 'many/')).toBe('artifact_limit_count');
  });

  test('applies its limits only to wanted files', async () => {
    const names = Array.from({ length: 12 }, (_, number) => `f${number}`);
    const world = worldWith(names);
    expect(await taken(world, ...names.slice(2))).toHaveLength(10);
    expect(await taken(world, ...names)).toBe('artifact_limit_count');
    expect(await taken(world, ...Array.from({ length: 5_000 }, (_, number) => `none${number}`), 'f1')).toEqual([
      'output/f1',
    ]);
    hollow(world.output, 'large', 5_001);
    expect(await taken(world, 'large')).toBe('artifact_limit_file');
  });
});

describe('rejects a wanted path', () => {
  const BREACHES: Record<string, (output: string) => void> = {
    'that is a link': output => symlinkSync('/etc/hostname', path.join(output, 'a')),
    'that is a link to a wanted file': output => {
      write(output, 'b');
      symlinkSync('b', path.join(output, 'a'));
    },
    'that is a dangling link': output => symlinkSync('none', path.join(output, 'a')),
    'that is a FIFO': output => fifo(path.join(output, 'a')),
    'that has a hard link': output => {
      write(output, 'b');
      linkSync(path.join(output, 'b'), path.join(output, 'a'));
    },
  };
  test.each(Object.entries(BREACHES))('%s', async (_, make) => {
    const world = worldWith(['good']);
    make(world.output);
    expect(await taken(world, 'good', 'a')).toBe('artifact_type_forbidden');
    expect(await taken(world, 'good')).toEqual(['output/good']);
  });

  test('below a link', async () => {
    const world = worldWith(['real/file', 'good']);
    symlinkSync('real', path.join(world.output, 'link'));
    for (const wanted of ['link/file', 'link/', 'link/none'])
      expect(await taken(world, 'good', wanted), wanted).toBe('artifact_type_forbidden');
    rmSync(world.output, { recursive: true });
    symlinkSync('/etc', world.output);
    expect(await taken(world, 'hostname')).toBe('artifact_type_forbidden');
  });

  test('in a wanted folder that contains a link', async () => {
    const world = worldWith(['dist/file']);
    symlinkSync('file', path.join(world.output, 'dist', 'link'));
    expect(await taken(world, 'dist/')).toBe('artifact_type_forbidden');
    expect(await taken(world, 'dist/file')).toEqual(['output/dist/file']);
  });

  test('with a name that is not portable, or that leaves the folder', async () => {
    const world = worldWith(['good', 'dir/x', 'CON', 'a:b']);
    write(world.work, 'result.json');
    for (const wanted of [
      '../result.json',
      '..',
      '../',
      'dir/..',
      '',
      '/',
      '//',
      '/etc/hostname',
      'dir//x',
      'CON',
      'a:b',
    ])
      expect(await taken(world, 'good', wanted), wanted).toBe('artifact_name_invalid');
  });

  test('with a name that some system cannot distinguish from an existing one', async () => {
    const world = worldWith(['a', 'B/x']);
    expect(await taken(world, 'a', 'A', 'b/x', 'B/x')).toEqual(['output/B/x', 'output/a']);
    write(world.output, 'A');
    expect(await taken(world, 'a', 'A')).toBe('artifact_collision');
    expect(await taken(world, 'a')).toEqual(['output/a']);
  });

  test.runIf(isRoot)('on a mount', async () => {
    const world = worldWith(['m/file']);
    mountMemory(path.join(world.output, 'm'), 'size=100k');
    write(world.output, 'm/file');
    expect(await taken(world, 'm/file')).toBe('artifact_type_forbidden');
  });
});

test('takes from a clean tree exactly what a filter over all files would take', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const place = fc.array(name, { minLength: 1, maxLength: 4 }).map(names => names.join('/'));
  const wantedPath = fc.tuple(place, fc.boolean()).map(([at, isFolder]) => (isFolder ? `${at}/` : at));
  let some = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(place, { maxLength: 10 }),
      fc.array(wantedPath, { maxLength: 6 }),
      async (files, wanted) => {
        const world = newWorld();
        for (const file of files) {
          try {
            write(world.output, file);
          } catch {
            // Its place is taken by a file or a folder; a smaller tree is as good.
          }
        }
        const limits = { filesMax: 100, bytesMax: 10_000 };
        const all = await ingestOutput(world.work, world.target, limits);
        const part = await take(world, wanted, limits);
        if (!all.ok || !part.ok) throw new Error('A clean tree was refused');
        const isWanted = (at: string): boolean =>
          wanted.some(one => (one.endsWith('/') ? at.startsWith(`output/${one}`) : at === `output/${one}`));
        expect(part.files).toEqual(all.files.filter(file => isWanted(file.path)));
        some += part.files.length;
        rmSync(world.base, { recursive: true, force: true });
      },
    ),
    { numRuns: 120 },
  );
  // Otherwise all trees would have been empty, or nothing wanted.
  expect(some).toBeGreaterThan(10);
});
