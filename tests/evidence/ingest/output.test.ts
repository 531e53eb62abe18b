import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { ingestOutput, type OutputLimits, type OutputReading } from '../../../src/evidence/ingest/output.ts';
import { publicSentence } from '../../../src/evidence/ingest/reason.ts';
import { readResult } from '../../../src/evidence/ingest/result.ts';
import { storeTree } from '../../../src/evidence/ingest/store.ts';
import { Walk } from '../../../src/evidence/ingest/tree.ts';
import {
  asNobody,
  descriptors,
  device,
  fifo,
  hollow,
  isRoot,
  mountMemory,
  newWorld,
  socket,
  type World,
  write,
} from './world.ts';

// The rows of the catalogue that apply to folders. E10 (duplicate members), E11 (long-name records), E12 (compression),
// E13 (truncated archives), P7 and P8 apply only to archives: every entry of a folder is below it. E17 (surviving
// children) concerns the code that ends the process, and E20 (two workers) the lock. E25 (the engine fails) appears
// here as a missing work folder. P1 to P3 cannot be file names, because a name contains no slash. P20 concerns JSON.

const LIMITS: OutputLimits = { filesMax: 10, bytesMax: 10_000, fileBytesMax: 5_000, entriesMax: 20 };

const pathsOf = (reading: OutputReading): string[] => {
  if (!reading.ok) throw new Error(`${reading.code}: ${reading.detail}`);
  return reading.files.map(file => file.path);
};

/** Ingests, and expects that a breach leaves nothing at the target. */
async function refused(world: World, limits = LIMITS): Promise<string> {
  const before = descriptors();
  const reading = await ingestOutput(world.work, world.target, limits);
  expect(descriptors()).toBe(before);
  expect(readdirSync(path.dirname(world.target))).toEqual(reading.ok ? ['output'] : []);
  if (reading.ok) return 'ok';
  expect(publicSentence(reading.code)).toMatch(/^The run left /);
  return reading.code;
}

describe('a clean output', () => {
  test('is stored unchanged, sorted, with a hash of each file', async () => {
    const { work, output, target } = newWorld();
    const large = Buffer.alloc(3_000_001, 'proctor');
    const contents: Record<string, string | Buffer> = { 'b/x.txt': 'x', 'a.txt': 'a', 'b-c': '', 'b/large.bin': large };
    for (const [name, content] of Object.entries(contents)) write(output, name, content);
    const reading = await ingestOutput(work, target, { filesMax: 10, bytesMax: 1e7 });
    expect(pathsOf(reading)).toEqual(['output/a.txt', 'output/b-c', 'output/b/large.bin', 'output/b/x.txt']);
    if (!reading.ok) return;
    expect(reading.bytesTotal).toBe(3_000_003);
    for (const { path: at, bytes, sha256 } of reading.files) {
      const stored = readFileSync(path.join(path.dirname(target), at));
      expect(stored.equals(Buffer.from(contents[at.slice('output/'.length)] as string))).toBe(true);
      expect({ bytes, sha256 }).toEqual({ bytes: stored.length, sha256: bytesHash(stored) });
    }
  });

  test.each([256 * 1024, 256 * 1024 + 1, 1024 * 1024, 2 * 1024 * 1024 + 1])(
    'may contain a file of %i bytes',
    async bytes => {
      const { work, output, target } = newWorld();
      const content = Buffer.alloc(bytes, 'abcdefg');
      write(output, 'x', content);
      const reading = await ingestOutput(work, target, { filesMax: 1, bytesMax: bytes });
      expect(reading).toMatchObject({ ok: true, files: [{ bytes, sha256: bytesHash(content) }] });
      expect(readFileSync(path.join(target, 'x')).equals(content)).toBe(true);
    },
  );

  test('may contain 300 files, and ingesting it leaves no descriptor open', async () => {
    const { work, output, target } = newWorld();
    for (let index = 0; index < 300; index++) write(output, `d${index % 7}/f${index}`);
    const before = descriptors();
    expect(pathsOf(await ingestOutput(work, target, { filesMax: 300, bytesMax: 10_000 }))).toHaveLength(300);
    expect(descriptors()).toBe(before);
  });

  test('E21 may be missing', async () => {
    const world = newWorld();
    rmSync(world.output, { recursive: true });
    const nothing = { ok: true, files: [], bytesTotal: 0, notes: { hidden: [], emptyFoldersDropped: 0 } };
    expect(await ingestOutput(world.work, world.target, LIMITS)).toEqual(nothing);
    expect(existsSync(world.target)).toBe(false);
  });

  test('E22 keeps empty files and drops empty folders', async () => {
    const { work, output, target } = newWorld();
    write(output, 'empty', '');
    mkdirSync(path.join(output, 'a', 'b', 'c'), { recursive: true });
    const reading = await ingestOutput(work, target, LIMITS);
    expect(reading).toMatchObject({ ok: true, files: [{ path: 'output/empty', bytes: 0 }] });
    expect(reading).toMatchObject({ notes: { emptyFoldersDropped: 3 } });
    expect(readdirSync(target)).toEqual(['empty']);
  });

  test('E14 loses modes, owners and times', async () => {
    const { work, output, target } = newWorld();
    for (const [name, mode] of [
      ['setuid', 0o4755],
      ['setgid', 0o2755],
      ['program', 0o755],
      ['open', 0o666],
    ] as const) {
      write(output, name);
      chmodSync(path.join(output, name), mode);
      utimesSync(path.join(output, name), -1000, 2 ** 33);
    }
    chmodSync(output, 0o1777);
    if (isRoot) chownSync(path.join(output, 'open'), 65_534, 65_534);
    expect(pathsOf(await ingestOutput(work, target, LIMITS))).toHaveLength(4);
    for (const name of readdirSync(target)) {
      const { mode, mtimeMs, uid, gid } = statSync(path.join(target, name));
      expect([uid, gid]).toEqual([process.getuid?.(), process.getgid?.()]);
      expect(mode & 0o7133).toBe(0);
      expect(mtimeMs).toBeLessThan(2 ** 32 * 1000);
    }
    expect(statSync(target).mode & 0o7022).toBe(0);
  });

  test('E23, E24, E27, P4 and P18 may have any content and any valid name', async () => {
    const { work, output, target } = newWorld();
    const names = [
      'x.zip',
      'page.html',
      'index.json',
      'output',
      'result.json',
      '-rf',
      "=cmd'!A0",
      '%2e%2e',
      '.partial',
    ];
    for (const name of names) write(output, name, 'PK\u0003\u0004<script>alert(1)</script>');
    expect(pathsOf(await ingestOutput(work, target, LIMITS))).toEqual(names.sort().map(name => `output/${name}`));
  });

  test('P19 reports up to 50 hidden files', async () => {
    const { work, output, target } = newWorld();
    for (let index = 0; index < 60; index++) write(output, `.git/${index}`);
    write(output, 'seen.txt');
    const reading = await ingestOutput(work, target, { filesMax: 100, bytesMax: 1_000 });
    if (!reading.ok) throw new Error(reading.detail);
    expect(reading.notes.hidden).toHaveLength(50);
    expect(reading.notes.hidden[0]).toBe('output/.git/0');
  });

  test('J23 does not depend on what the result lists', async () => {
    const { work, output, target } = newWorld();
    write(output, 'there.txt');
    const artifacts = [{ path: 'output/not-there.txt', bytes: 9 }];
    const result = { contract_version: 1, status: 'succeeded', html_output: '', error_summary: null, artifacts };
    write(work, 'result.json', JSON.stringify(result));
    expect(readResult(work).ok).toBe(true);
    expect(pathsOf(await ingestOutput(work, target, LIMITS))).toEqual(['output/there.txt']);
  });
});

describe('rejects an entry that is not a regular file', () => {
  type Row = [about: string, make: (world: World) => void | Promise<void>];
  const link =
    (to: string, name = 'x') =>
    ({ output }: World): void =>
      symlinkSync(to, path.join(output, name));
  const instead =
    (make: (file: string) => void | Promise<void>) =>
    async ({ output }: World): Promise<void> => {
      rmSync(output, { recursive: true });
      await make(output);
    };
  const rows: Row[] = [
    ['E1 a link to a file of the machine', link('/etc/passwd')],
    ['E1 a link to a folder of the machine', link('/etc')],
    ['E1 a link to a file outside', link('../secret')],
    ['E1 a link to a file inside', link('good.txt')],
    ['E1 a link to the folder it is in', link('.')],
    ['E1 a link to nothing', link('nowhere')],
    ['E1 a link to itself', link('x')],
    [
      'E1 a link deep inside',
      world => (write(world.output, 'a/b/c'), symlinkSync('c', path.join(world.output, 'a/b/d'))),
    ],
    ['E2 output is a link to a folder', instead(file => symlinkSync('/etc', file))],
    ['E2 output is a link to a folder inside', instead(file => (mkdirSync(`${file}2`), symlinkSync('output2', file)))],
    ['E2 output is a file', instead(file => writeFileSync(file, 'x'))],
    ['E2 output is a FIFO', instead(fifo)],
    ['E2 output is a socket', instead(socket)],
    ['E3 a link to a folder, and a file behind it', world => (write(world.base, 'o/x'), link('../../o', 'l')(world))],
    [
      'E4 two names of one file inside',
      ({ output }) => linkSync(path.join(output, 'good.txt'), path.join(output, 'x')),
    ],
    [
      'E4 a hard link to a file outside',
      w => (write(w.base, 's'), linkSync(path.join(w.base, 's'), path.join(w.output, 'x'))),
    ],
    ['E5 a FIFO', ({ output }) => fifo(path.join(output, 'x'))],
    ['E5 a socket', ({ output }) => socket(path.join(output, 'x'))],
    [
      'F13 the work folder is a link',
      ({ base, work }) => (renameSync(work, path.join(base, 'w2')), symlinkSync('w2', work)),
    ],
    ...(isRoot
      ? [
          ['E5 an endless device', ({ output }) => device(path.join(output, 'x'), 'c', 1, 5)] satisfies Row,
          ['E5 a block device', ({ output }) => device(path.join(output, 'x'), 'b', 7, 200)] satisfies Row,
          ['E5 a whiteout', ({ output }) => device(path.join(output, 'x'), 'c', 0, 0)] satisfies Row,
          [
            'E26 a mount',
            ({ output }) => (mkdirSync(path.join(output, 'm')), mountMemory(path.join(output, 'm'), 'size=4k')),
          ] satisfies Row,
          ['E26 output is a mount', ({ output }) => mountMemory(output, 'size=4k')] satisfies Row,
        ]
      : []),
  ];
  test.each(rows)('%s', async (_, make) => {
    const world = newWorld();
    write(world.output, 'good.txt');
    await make(world);
    expect(await refused(world)).toBe('artifact_type_forbidden');
  });

  test('E15 or an unreadable file, and blames the script', async () => {
    const world = newWorld();
    write(world.output, 'x');
    expect(await asNobody(world, () => refused(world))).toBe('ok');
    chmodSync(path.join(world.output, 'x'), 0);
    expect(await asNobody(world, () => refused(world))).toBe('artifact_type_forbidden');
  });

  test.each([0, 0o400])('E15 or a folder with mode %i, and blames the script', async mode => {
    const world = newWorld();
    write(world.output, 'd/x');
    chmodSync(path.join(world.output, 'd'), mode);
    expect(await asNobody(world, () => refused(world))).toBe('artifact_type_forbidden');
    chmodSync(path.join(world.output, 'd'), 0o755);
  });
});

describe('the verdict on a name that another system may read differently', () => {
  const deep = (names: number): string => Array.from({ length: names }, () => 'd').join('/');
  const rows: [row: string, expected: string, names: string[]][] = [
    ['P5', 'artifact_name_invalid', ['C:x', 'C:']],
    ['P6', 'artifact_name_invalid', ['a\\b', '..\\x']],
    ['P10', 'artifact_name_invalid', ['a ', ' a', 'a.', '...', 'a /x']],
    [
      'P11',
      'artifact_name_invalid',
      ['\r', '\n', '\t', '\u001b', '\u007f', '\u0085', '\u2028', '\u202e', '\u200b'].map(c => `a${c}b`),
    ],
    ['P15', 'artifact_name_invalid', ['CON', 'nul.txt', 'Com1', 'a:b', 'a*', 'a?', 'a"', 'a<', 'a>', 'a|']],
    ['P16', 'ok', ['x'.repeat(255), deep(15), ['x', 'y', 'z', 'w'].map(c => c.repeat(250)).join('/')]],
    ['P16', 'artifact_name_invalid', [['x', 'y', 'z', 'w', 'v'].map(c => c.repeat(250)).join('/')]],
    ['P16', 'artifact_limit_depth', [deep(16), deep(40)]],
  ];
  test.each(
    rows.flatMap(([row, expected, names]) => names.map(name => [row, JSON.stringify(name), expected, name] as const)),
  )('%s %s: %s', async (_row, _shown, expected, name) => {
    const world = newWorld();
    write(world.output, name, 'x');
    expect(await refused(world, { ...LIMITS, entriesMax: 100 })).toBe(expected);
  });

  test('P11 the name of an empty folder: artifact_name_invalid', async () => {
    const world = newWorld();
    mkdirSync(path.join(world.output, 'a\nb'));
    expect(await refused(world)).toBe('artifact_name_invalid');
  });

  test('P12 bytes that are not UTF-8: artifact_name_invalid', async () => {
    const world = newWorld();
    writeFileSync(Buffer.concat([Buffer.from(`${world.output}/`), Buffer.from([0x61, 0xff])]), 'x');
    expect(await refused(world)).toBe('artifact_name_invalid');
  });

  test.each([
    ['P13 composed and decomposed', '\u00e9', 'e\u0301'],
    ['P13 ß and ss', 'straße', 'strasse'],
    ['P13 a ligature', 'ﬁle', 'file'],
    ['P13 full width', 'ａ', 'a'],
    ['P14 upper and lower case', 'A.txt', 'a.txt'],
    ['P14 folders in upper and lower case', 'A/x', 'a/y'],
    ['P14 final sigma', 'ΟΔΟΣ', 'οδος'],
    ['P17 a file and a folder', 'A', 'a/b'],
  ])('%s: artifact_collision', async (_, one, other) => {
    const world = newWorld();
    write(world.output, one);
    expect(await refused(world)).toBe('ok');
    write(world.output, other);
    rmSync(world.target, { recursive: true });
    expect(await refused(world)).toBe('artifact_collision');
  });
});

describe('an output near its limits', () => {
  const fill = (world: World, files: number, bytes: number): void => {
    for (let index = 0; index < files; index++) write(world.output, `f${index}`, Buffer.alloc(bytes));
  };
  type Row = [about: string, expected: string, make: (world: World) => void, limits?: OutputLimits];
  const rows: Row[] = [
    ['E6 a sparse file of a terabyte', 'artifact_limit_file', ({ output }) => hollow(output, 'x', 2 ** 40)],
    ['E6 a sparse file within the limit', 'ok', ({ output }) => hollow(output, 'x', 5_000)],
    ['E7 a file at the size limit', 'ok', world => fill(world, 1, 5_000)],
    ['E7 a file one byte above the size limit', 'artifact_limit_file', world => fill(world, 1, 5_001)],
    [
      'E7 a file above the total limit, without a limit per file',
      'artifact_limit_file',
      w => fill(w, 1, 101),
      { filesMax: 1, bytesMax: 100 },
    ],
    ['E8 a total at the limit', 'ok', world => fill(world, 10, 1_000)],
    [
      'E8 a total one byte above the limit',
      'artifact_limit_total',
      w => (fill(w, 9, 1_000), write(w.output, 'x', Buffer.alloc(1_001))),
    ],
    ['E9 a number of files at the limit', 'ok', world => fill(world, 10, 1)],
    ['E9 one file above the limit', 'artifact_limit_count', world => fill(world, 11, 1)],
    [
      'E9 a number of entries at the limit',
      'ok',
      world => {
        fill(world, 1, 1);
        for (let index = 0; index < 19; index++) mkdirSync(path.join(world.output, `d${index}`));
      },
    ],
    [
      'E9 one entry above the limit',
      'artifact_limit_count',
      world => {
        for (let index = 0; index < 21; index++) mkdirSync(path.join(world.output, `d${index}`));
      },
    ],
    ['E9 a depth at the limit', 'ok', world => write(world.output, 'a/b/c'), { ...LIMITS, depthMax: 4 }],
    [
      'E9 a depth one above the limit',
      'artifact_limit_depth',
      world => write(world.output, 'a/b/c/d'),
      { ...LIMITS, depthMax: 4 },
    ],
    [
      'E9 200 levels',
      'artifact_limit_depth',
      world => mkdirSync(path.join(world.output, ...Array.from({ length: 200 }, () => 'd')), { recursive: true }),
      { ...LIMITS, depthMax: 1_000, entriesMax: 1_000 },
    ],
  ];
  test.each(rows)('%s: %s', async (_, expected, make, limits = LIMITS) => {
    const world = newWorld();
    make(world);
    expect(await refused(world, limits)).toBe(expected);
  });

  test('is rejected with a count of what was seen', async () => {
    const world = newWorld();
    fill(world, 11, 3);
    const reading = await ingestOutput(world.work, world.target, LIMITS);
    expect(reading).toMatchObject({ ok: false, code: 'artifact_limit_count', seen: { files: 11, bytes: 30 } });
  });
});

describe('E16 a file that changes after it was checked', () => {
  const changes: [about: string, change: (output: string) => void][] = [
    ['is replaced with a link', output => (rmSync(`${output}/d/x`), symlinkSync('/etc/passwd', `${output}/d/x`))],
    ['is replaced with a FIFO', output => (rmSync(`${output}/d/x`), fifo(`${output}/d/x`))],
    [
      'is replaced with another file',
      output => (write(output, 'y', 'new'), renameSync(`${output}/y`, `${output}/d/x`)),
    ],
    ['grows', output => appendFileSync(`${output}/d/x`, 'more')],
    ['shrinks', output => writeFileSync(`${output}/d/x`, '')],
    ['gets a hard link', output => linkSync(`${output}/d/x`, `${output}/../z`)],
    ['vanishes', output => rmSync(`${output}/d/x`)],
    [
      'is in a folder that is replaced with a link',
      output => (renameSync(`${output}/d`, `${output}/../d`), symlinkSync('../d', `${output}/d`)),
    ],
    [
      'is in a folder that is replaced with another folder',
      output => (renameSync(`${output}/d`, `${output}/../d`), write(output, 'd/x')),
    ],
  ];
  test.each(changes)('is rejected if it %s', async (_, change) => {
    const { work, output, target } = newWorld();
    write(output, 'd/x', 'old');
    const before = descriptors();
    const stored = await storedAfter(work, target, () => change(output));
    expect(stored).toMatchObject({ ok: false, code: 'artifact_type_forbidden' });
    expect(descriptors()).toBe(before);
  });

  test('is rejected if it grows while it is copied', async () => {
    const { work, output, target } = newWorld();
    write(output, 'x', Buffer.alloc(5_000_000));
    const stored = await storedAfter(
      work,
      target,
      () => undefined,
      () => appendFileSync(`${output}/x`, 'more'),
    );
    expect(stored).toMatchObject({ ok: false, code: 'artifact_type_forbidden' });
  });

  /** Runs one action between check and copy, and another during the copy. */
  async function storedAfter(work: string, target: string, between: () => void, during?: () => void) {
    const held = openSync(work, 'r');
    const { signal } = new AbortController();
    const limits = { filesMax: 10, bytesMax: 1e7, fileBytesMax: 1e7, entriesMax: 10, depthMax: 16 };
    try {
      const tree = await new Walk(limits, fstatSync(held).dev, signal).root(held, 'output');
      if (!tree || 'ok' in tree) throw new Error('The tree is clean so far.');
      between();
      const storing = storeTree(tree, held, target, signal);
      during?.();
      return await storing;
    } finally {
      closeSync(held);
    }
  }
});

describe('a machine failure', () => {
  const fault = (code: string): Error =>
    expect.objectContaining({ name: 'Fault', code, message: expect.not.stringContaining('/') }) as Error;

  test('E18 is a fault if the target folder is missing', async () => {
    const { work, output, base } = newWorld();
    write(output, 'x');
    await expect(ingestOutput(work, path.join(base, 'nowhere', 'output'), LIMITS)).rejects.toThrow(fault('ingest_io'));
    expect(readdirSync(base).sort()).toEqual(['store', 'work']);
  });

  if (isRoot) {
    test.each([10_000, 2_000_000])(
      'E18 is a fault if the disk is full, and leaves nothing: files of %i bytes',
      async bytes => {
        const world = newWorld();
        for (let index = 0; index < 9; index++) write(world.output, `${index}`, Buffer.alloc(bytes, 1));
        mountMemory(path.dirname(world.target), 'size=64k');
        const before = descriptors();
        await expect(ingestOutput(world.work, world.target, { filesMax: 10, bytesMax: 1e8 })).rejects.toThrow(
          fault('ingest_io'),
        );
        expect(readdirSync(path.dirname(world.target))).toEqual([]);
        expect(descriptors()).toBe(before);
      },
    );
  }

  test('E18 is a fault if the target is not writable', async () => {
    const world = newWorld();
    write(world.output, 'x');
    chmodSync(path.dirname(world.target), 0o555);
    await asNobody(world, () =>
      expect(ingestOutput(world.work, world.target, LIMITS)).rejects.toThrow(fault('ingest_io')),
    );
  });

  test('E19 leaves files that the next ingestion removes', async () => {
    const { work, output, target } = newWorld();
    write(output, 'new');
    write(`${target}.partial`, 'half');
    write(target, 'old');
    expect(pathsOf(await ingestOutput(work, target, LIMITS))).toEqual(['output/new']);
    expect(readdirSync(target)).toEqual(['new']);
    expect(readdirSync(path.dirname(target))).toEqual(['output']);
  });

  test('E19 a second ingestion does not reuse the files of the first', async () => {
    const world = newWorld();
    write(world.output, 'x');
    expect(await refused(world)).toBe('ok');
    symlinkSync('x', path.join(world.output, 'y'));
    expect(await refused(world)).toBe('artifact_type_forbidden');
  });

  test('E25 is a fault, not an empty success, if the work folder is missing', async () => {
    const { base, target } = newWorld();
    await expect(ingestOutput(path.join(base, 'gone'), target, LIMITS)).rejects.toThrow(fault('ingest_io'));
  });

  test('E26 an ingestion that takes too long is cancelled and leaves nothing', async () => {
    const { work, output, target } = newWorld();
    for (let index = 0; index < 1_500; index++) write(output, `f${index}`, 'x');
    const before = descriptors();
    await expect(ingestOutput(work, target, { filesMax: 2_000, bytesMax: 1e6, wallMs: 1 })).rejects.toThrow(
      fault('ingest_slow'),
    );
    expect(readdirSync(path.dirname(target))).toEqual([]);
    expect(descriptors()).toBe(before);
  });
});
