import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  linkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { ingestOutput } from '../../../src/evidence/ingest/output.ts';
import { quarantineOutput } from '../../../src/evidence/ingest/quarantine.ts';
import { readResult } from '../../../src/evidence/ingest/result.ts';
import { descriptors, fifo, newWorld } from './world.ts';

const RESULT = JSON.stringify({
  contract_version: 1,
  status: 'failed',
  html_output: '<p>x</p>',
  error_summary: 'x',
  artifacts: [{ path: 'output/a', bytes: 1 }],
});

/** Any name that a file system accepts: all bytes except a slash and NUL. */
const name = fc
  .oneof(
    fc.constantFrom(
      'a',
      'b',
      'A',
      'c.txt',
      '.env',
      'CON',
      'a ',
      'é',
      'e\u0301',
      'x\ny',
      '\u202e',
      '-rf',
      'a:b',
      '\\',
      '~',
    ),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom('a', 'b', 'd', 'e', 'f'),
    fc.uint8Array({ minLength: 1, maxLength: 8 }).map(bytes => Buffer.from(bytes)),
  )
  .map(value => Buffer.from(value as string))
  .filter(bytes => bytes.length > 0 && bytes.length < 200 && !bytes.includes(0) && !bytes.includes(0x2f))
  .filter(bytes => !['.', '..'].includes(bytes.toString('latin1')));

const kind = fc.constantFrom('file', 'file', 'file', 'file', 'file', 'folder', 'link', 'fifo', 'hard');

const entry = fc.record({
  folders: fc.array(name, { maxLength: 2 }),
  name,
  kind,
  bytes: fc.uint8Array({ maxLength: 40 }),
});

const result = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.record({ at: fc.nat(RESULT.length), byte: fc.nat(255) }).map(({ at, byte }) => {
    const bytes = Buffer.from(RESULT);
    bytes[at] = byte;
    return bytes;
  }),
);

function make(
  output: string,
  { folders, name, kind, bytes }: typeof entry extends fc.Arbitrary<infer T> ? T : never,
): void {
  let folder = Buffer.from(output);
  const below = (child: Buffer): Buffer<ArrayBuffer> => Buffer.concat([folder, Buffer.from('/'), child]);
  try {
    for (const child of folders) {
      folder = below(child);
      mkdirSync(folder, { recursive: true });
    }
    const file = below(name);
    if (kind === 'file') writeFileSync(file, bytes, { flag: 'wx' });
    else if (kind === 'folder') mkdirSync(file);
    else if (kind === 'link') symlinkSync('../../canary', file);
    else if (kind === 'hard') linkSync(path.join(output, '..', '..', 'canary'), file);
    else if (/^[a-z]+$/.test(name.toString('latin1')) && folders.length === 0) fifo(file.toString('utf8'));
  } catch (error) {
    // A duplicate name only makes the tree smaller.
    if (!/EEXIST|File exists|ENOTDIR|EISDIR|EMLINK|ENOENT/.test(String(error))) throw error;
  }
}

/** Everything below a folder that could have changed, except one path. */
function picture(folder: string, except: string): string[] {
  const lines: string[] = [];
  for (const child of readdirSync(folder, { encoding: 'buffer' })) {
    const at = path.join(folder, child.toString('latin1'));
    if (at === except) continue;
    const place = Buffer.concat([Buffer.from(`${folder}/`), child]);
    const { mode, size, mtimeMs, nlink } = lstatSync(place);
    const isFolder = lstatSync(place).isDirectory();
    const text = lstatSync(place).isSymbolicLink() ? readlinkSync(place) : '';
    const hash = lstatSync(place).isFile() ? bytesHash(readFileSync(place)) : '';
    lines.push([at, mode, isFolder ? '' : size, isFolder ? '' : mtimeMs, nlink, text, hash].join(' '));
    if (isFolder && child.toString('utf8') === child.toString('latin1')) lines.push(...picture(at, except));
  }
  return lines.sort();
}

test('ingestion of any tree ends with a known result and changes nothing but its target', async () => {
  let accepted = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 6 }), result, async (entries, bytes) => {
      const { base, work, output, target } = newWorld();
      writeFileSync(path.join(base, 'canary'), 'not to be read');
      for (const one of entries) make(output, one);
      writeFileSync(path.join(work, 'result.json'), bytes);
      const before = { world: picture(base, target), descriptors: descriptors() };

      const reading = readResult(work);
      if (reading.ok) expect(reading.bytes.equals(bytes)).toBe(true);
      else expect(reading.code).toMatch(/^(?:result|version|schema|artifact)_[a-z0-9_]+$/);

      const ingested = await ingestOutput(work, target, { filesMax: 5, bytesMax: 100, entriesMax: 15 });
      if (ingested.ok) {
        accepted++;
        const stored = ingested.files.map(file => readFileSync(path.join(path.dirname(target), file.path)));
        expect(stored.map(bytesHash)).toEqual(ingested.files.map(({ sha256 }) => sha256));
        expect(stored.some(content => content.includes('not to be read'))).toBe(false);
      } else {
        refused++;
        expect(ingested.code).toMatch(/^artifact_/);
        expect(readdirSync(path.dirname(target))).toEqual([]);
      }
      rmSync(target, { recursive: true, force: true });
      expect({ world: picture(base, target), descriptors: descriptors() }).toEqual(before);

      await quarantineOutput(work, target);
      for (const file of readdirSync(target)) {
        expect(file).toMatch(/^(?:\d{4}\.bin|index\.json)$/);
        expect(readFileSync(path.join(target, file), 'utf8')).not.toContain('not to be read');
      }
      rmSync(target, { recursive: true, force: true });
      expect({ world: picture(base, target), descriptors: descriptors() }).toEqual(before);
      rmSync(base, { recursive: true, force: true });
    }),
    { numRuns: 120 },
  );
  expect(accepted).toBeGreaterThan(5);
  expect(refused).toBeGreaterThan(5);
});
