import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { openSeal } from '../../../src/contracts/seal/index.ts';
import { finish, SEAL } from '../../../src/evidence/run-folder/finish.ts';
import { storedFiles } from '../../../src/evidence/run-folder/sealed-files.ts';
import { verify } from '../../../src/verify/index.ts';
import { temporaryFolder } from '../../support/support.ts';
import {
  captureOf,
  COMPLETED_AT,
  expectValid,
  finishRun,
  put,
  said,
  succeeded,
  troublesIn,
} from '../script/script-world.ts';

const OUTPUT = {
  'output/a.txt': 'aaa',
  'output/sub/b.bin': '\u0000\u0001bb',
  'output/empty': '',
  'output/evidence/seal.json': '{}',
};

/** A finished run with an internal log. */
async function finished(folder: string): Promise<void> {
  for (const [file, content] of Object.entries(OUTPUT)) put(folder, file, content);
  put(folder, 'evidence/internal/result.raw', '{"contract_version":1}');
  put(folder, 'evidence/internal/stdout.part', 'hel');
  const remarks = [{ level: 'note', code: 'x', detail: 'y' } as const];
  await finishRun(folder, captureOf({ how: 'exited', code: 0 }, said('hello\n'), said('€')), {
    ...succeeded(OUTPUT),
    remarks,
  });
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();

describe('a finished run', () => {
  test('is valid, and its seal lists every file except itself with size and digest', async () => {
    const folder = temporaryFolder();
    await finished(folder);
    await expectValid(folder);
    const opened = openSeal(JSON.parse(readFileSync(path.join(folder, SEAL), 'utf8')));
    const subjects = opened.ok ? opened.statement.subject : [];
    const files = filesIn(folder).filter(file => file !== SEAL);
    expect(subjects.map(({ name }) => name).sort()).toEqual(files);
    for (const { name, digest, annotations } of subjects) {
      const bytes = readFileSync(path.join(folder, name));
      expect({ name, sha256: `sha256:${digest.sha256}`, bytes: annotations.size_bytes }).toEqual({
        name,
        sha256: bytesHash(bytes),
        bytes: bytes.length,
      });
    }
  });

  test('contains no file that only the live run needs', async () => {
    const folder = temporaryFolder();
    await finished(folder);
    expect(filesIn(folder).filter(file => /\.(?:part|tmp)$|journal/.test(file))).toEqual([]);
  });

  test('has the same bytes every time it is written', async () => {
    const [one, two] = [temporaryFolder(), temporaryFolder()];
    await Promise.all([finished(one), finished(two)]);
    expect(filesIn(one)).toEqual(filesIn(two));
    for (const file of filesIn(one)) {
      expect(readFileSync(path.join(one, file)), file).toEqual(readFileSync(path.join(two, file)));
    }
  });

  test('does not list an open journal in its seal', async () => {
    const folder = temporaryFolder();
    put(folder, 'journal.ndjson', '{}\n');
    await finished(folder);
    rmSync(path.join(folder, 'journal.ndjson'));
    await expectValid(folder);
  });
});

describe('a folder that is not writable', () => {
  test('causes a fault without a path, and leaves no seal', async () => {
    const folder = temporaryFolder();
    put(folder, 'evidence/final-state.txt/in-the-way', '');
    const writing = finished(folder);
    await expect(writing).rejects.toMatchObject({
      code: 'write_failed',
      message: "The run's evidence could not be written.",
    });
    expect(existsSync(path.join(folder, SEAL))).toBe(false);
  });

  test('causes a fault if it is a file', async () => {
    const folder = path.join(temporaryFolder(), 'file');
    writeFileSync(folder, '');
    const nothing = {
      runId: 'x',
      kind: 'script',
      documents: [['a/b', 'c']],
      stored: storedFiles([]),
      passing: [],
      sealedAtMs: COMPLETED_AT,
      signer: undefined,
    } as const;
    await expect(finish(folder, nothing)).rejects.toMatchObject({ code: 'write_failed' });
  });
});

/** Every way to change a file. */
const CHANGES: Record<string, (file: string, at: number, byte: number) => void> = {
  'has one changed byte': (file, at, byte) => {
    const bytes = readFileSync(file);
    const index = at % Math.max(1, bytes.length);
    const old = bytes[index] ?? 0;
    bytes[index] = old === byte ? old ^ 1 : byte;
    writeFileSync(file, bytes);
  },
  'has an extra byte at its end': (file, _, byte) => appendFileSync(file, Buffer.from([byte])),
  'has an extra byte in its middle': (file, at, byte) => {
    const bytes = readFileSync(file);
    const index = at % (bytes.length + 1);
    writeFileSync(file, Buffer.concat([bytes.subarray(0, index), Buffer.from([byte]), bytes.subarray(index)]));
  },
  'lacks a byte': (file, at) => {
    const bytes = readFileSync(file);
    const index = at % Math.max(1, bytes.length);
    writeFileSync(file, Buffer.concat([bytes.subarray(0, index), bytes.subarray(index + 1)]));
  },
  'is missing': file => rmSync(file),
  'is empty': file => writeFileSync(file, ''),
  'has another name': file => renameSync(file, `${file}2`),
  'is a link': file => {
    renameSync(file, `${file}2`);
    symlinkSync(`${path.basename(file)}2`, file);
  },
  'is a folder': file => {
    rmSync(file);
    mkdirSync(file);
  },
};

describe('the verifier', () => {
  let folder = '';
  let files: string[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
    await finished(folder);
    files = filesIn(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Changes a file, verifies, and restores it. */
  async function isFound(file: string, change: (full: string) => void): Promise<boolean> {
    const full = path.join(folder, file);
    const before = readFileSync(full);
    change(full);
    const isSame =
      existsSync(full) && !existsSync(`${full}2`) && readdirSafe(full) && readFileSync(full).equals(before);
    const troubles = await troublesIn(folder);
    for (const place of [full, `${full}2`]) rmSync(place, { recursive: true, force: true });
    writeFileSync(full, before);
    return isSame || troubles.length > 0;
  }

  test.each(Object.entries(CHANGES))('detects any file that %s', async (_, change) => {
    // Only a signature reveals changes to the seal itself.
    const sealed = files.filter(file => file !== SEAL);
    expect(sealed.length).toBeGreaterThan(15);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...sealed), fc.nat(), fc.nat(255), async (file, at, byte) => {
        expect(await isFound(file, full => change(full, at, byte)), file).toBe(true);
      }),
      { numRuns: 40 },
    );
    expect(await troublesIn(folder)).toEqual([]);
  });

  test.each([
    'x',
    'output/x',
    'output/sub/x',
    'evidence/x',
    'evidence/internal/x',
    'evidence/steps/script/x',
    'evidence/steps/x/y',
    '.hidden',
    'new/x',
    'journal.ndjson',
    'evidence/seal.json.tmp',
    'evidence/runner2.json',
  ])('detects that %s was added', async file => {
    put(folder, file, '');
    expect(await troublesIn(folder)).not.toEqual([]);
    const [top = ''] = file.split('/');
    rmSync(path.join(folder, files.some(known => known.startsWith(`${top}/`)) ? file : top), { recursive: true });
    rmSync(path.join(folder, 'evidence/steps/x'), { recursive: true, force: true });
    expect(await troublesIn(folder)).toEqual([]);
  });

  test('ignores file permissions', async () => {
    chmodSync(path.join(folder, 'result.json'), 0o600);
    expect(await troublesIn(folder)).toEqual([]);
  });

  test('reports a missing seal, because then nothing proves that the folder is complete', async () => {
    const seal = readFileSync(path.join(folder, SEAL));
    rmSync(path.join(folder, SEAL));
    const notChecked: string[] = [];
    for await (const { not_checked } of verify([folder])) notChecked.push(...not_checked);
    writeFileSync(path.join(folder, SEAL), seal);
    expect(notChecked).toContain('whether files were changed, added or removed: there is no seal');
  });

  test('detects a seal that is cut at any byte', async () => {
    const { length } = readFileSync(path.join(folder, SEAL));
    for (let at = 0; at < length; at += Math.ceil(length / 40)) {
      expect(await isFound(SEAL, full => truncateSync(full, at))).toBe(true);
    }
  });
});

function readdirSafe(full: string): boolean {
  try {
    readdirSync(full);
    return false;
  } catch {
    return true;
  }
}
