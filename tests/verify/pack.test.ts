import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash, contentHash } from '../../src/base/hash.ts';
import { TAR_END, tarHead } from '../../src/base/tar.ts';
import { type Bundle, bundleIdOf } from '../../src/contracts/intent/index.ts';
import { packRules } from '../../src/verify/pack-rules.ts';
import {
  archive,
  archiveOf,
  brokenIn,
  bytesIn,
  changedHead,
  changedIn,
  entriesOf,
  entry,
  fileOf,
  lineOf,
  packOf,
  realIntent,
  resealed,
  scriptFolder,
  SCRIPT_RUN,
  sealedFolder,
  tampered,
  textIn,
  verdictsOf,
} from '../evidence/pack/pack-world.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { temporaryFolder } from '../support/support.ts';

type Broken = string[];

const SEAL = 'folder/evidence/seal.json';
const pieces = (file: string): [string, Buffer][] =>
  [...entriesOf(file)].map(([name, bytes]) => [name, entry(name, bytes)]);
const withHead = (file: string, of: string, change: (piece: Buffer) => Buffer): string =>
  fileOf(archive(pieces(file).map(([name, piece]) => (name === of ? change(piece) : piece))));
const own = (file: string, changes: object): Record<string, string> => ({
  'pack.json': canonicalize({ ...(JSON.parse(textIn(file, 'pack.json')) as object), ...changes }),
});
const swapped = ([first, second, ...rest]: Buffer[]): Buffer[] => [second as Buffer, first as Buffer, ...rest];
const A = 'folder/output/a.txt';
const head = (name: string, size: number, at: number, text: string): Buffer =>
  changedHead(tarHead(name, size), at, text);

/** Changes to the pack of a script run, and the resulting violations. */
const breaches: [string, (file: string) => string, Broken][] = [
  ['no pack.json', file => tampered(file, { 'pack.json': null }), ['PK1 pack.json']],
  ['no seal', file => tampered(file, { [SEAL]: null }), ['PK1 folder/evidence/seal.json', 'SL5 evidence/seal.json']],
  ['an invalid seal', file => tampered(file, { [SEAL]: '{}' }), ['SL1', 'SL2', `PK1 ${SEAL}`]],
  [
    'no result.json',
    file => tampered(file, { 'folder/result.json': null }),
    [
      'FD2 evidence/events.ndjson:2#artifact_path',
      'FD2 evidence/steps/script/manifest.json#artifacts[0]',
      'FD9 evidence/seal.json',
      'PK1 result.json',
    ],
  ],
  [
    'a missing unsealed entry',
    file =>
      tampered(file, own(file, { unsealed: [{ path: 'ledger-line.json', sha256: bytesHash('x'), size_bytes: 1 }] })),
    ['PK1 ledger-line.json'],
  ],
  ['an additional file', file => tampered(file, { 'notes.txt': 'x' }), ['PK2 notes.txt']],
  ['an extra file in the folder', file => tampered(file, { 'folder/x.txt': 'x' }), ['PK2 folder/x.txt']],
  [
    'an invalid result',
    file => tampered(file, { 'folder/result.json': '{"contract_version":1}' }),
    ['SR2', 'SR3', 'SR4', 'SR5', 'FD3 evidence/steps/script/manifest.json#artifacts[0]', 'PK3 result.json'],
  ],
  [
    'a link in place of a file',
    file => withHead(file, A, () => head(A, 0, 156, '2')),
    [`PK6 ${A}`, 'SL5 output/a.txt'],
  ],
  ['a hard link', file => withHead(file, A, () => head(A, 0, 156, '1')), [`PK6 ${A}`, 'SL5 output/a.txt']],
  [
    'a name with ..',
    file => fileOf(archive([entry('../x', 'x'), ...pieces(file).map(([, piece]) => piece)])),
    ['PK7 ../x'],
  ],
  [
    'an absolute name',
    file => fileOf(archive([entry('/etc/x', 'x'), ...pieces(file).map(([, piece]) => piece)])),
    ['PK7 /etc/x'],
  ],
  [
    'a name that differs only in case',
    file => tampered(file, { 'folder/output/A.txt': 'x' }),
    ['PK2 folder/output/A.txt', `PK7 ${A}`, 'SL5 output/a.txt'],
  ],
  [
    'a file that is also a folder',
    file => tampered(file, { 'folder/output/a.txt/b': 'x' }),
    ['PK7 folder/output/a.txt/b'],
  ],
  [
    'a runner record that violates a rule',
    file => {
      const runner = JSON.parse(textIn(file, 'folder/evidence/runner.json')) as object;
      return tampered(file, { 'folder/evidence/runner.json': canonicalize({ ...runner, platform: 7 }) });
    },
    ['RN3', 'PK8 evidence/runner.json', 'SL5 evidence/runner.json'],
  ],
  [
    'an invalid ledger line',
    file => tampered(file, { 'ledger-line.json': '[1,2]' }),
    ['PK9 ledger-line.json', 'PK14 pack.json#unsealed'],
  ],
  [
    'a file time',
    file => withHead(file, A, piece => Buffer.concat([head(A, 3, 136, '00000000001'), piece.subarray(512)])),
    [`PK11 ${A}`],
  ],
  [
    'a file owner',
    file => withHead(file, A, piece => Buffer.concat([head(A, 3, 265, 'root'), piece.subarray(512)])),
    [`PK11 ${A}`],
  ],
  [
    'a setuid bit',
    file => withHead(file, A, piece => Buffer.concat([head(A, 3, 100, '0004755'), piece.subarray(512)])),
    [`PK11 ${A}`],
  ],
  ['a device', file => withHead(file, A, () => head(A, 0, 156, '3')), [`PK12 ${A}`, 'SL5 output/a.txt']],
  ['a FIFO', file => withHead(file, A, () => head(A, 0, 156, '6')), [`PK12 ${A}`, 'SL5 output/a.txt']],
  ['a folder', file => withHead(file, A, piece => Buffer.concat([head(A, 0, 156, '5'), piece])), [`PK12 ${A}`]],
  ['a sparse file', file => withHead(file, A, () => head(A, 0, 156, 'S')), [`PK12 ${A}`, 'SL5 output/a.txt']],
  ['another version of pack.json', file => tampered(file, own(file, { schema_version: 'pack.v9' })), ['PK13']],
  ['the name of another run', file => tampered(file, own(file, { run_id: 'script_x' })), ['PK14 pack.json#run_id']],
  ['another kind', file => tampered(file, own(file, { kind: 'suite' })), ['PK14 pack.json#kind']],
  [
    'the hash of another seal',
    file => tampered(file, own(file, { seal_sha256: bytesHash('x') })),
    ['PK14 pack.json#seal_sha256'],
  ],
  [
    'an incomplete list of omitted files',
    file => tampered(file, own(file, { left_out: [] })),
    ['PK14 pack.json#left_out'],
  ],
  ['an extra key in pack.json', file => tampered(file, own(file, { note: 'x' })), ['PK15 pack.json']],
  [
    'a reformatted pack.json',
    file => tampered(file, { 'pack.json': `${textIn(file, 'pack.json')}\n` }),
    ['PK15 pack.json'],
  ],
  [
    'a duplicate entry',
    file => fileOf(archive(pieces(file).flatMap(([name, piece]) => (name === A ? [piece, piece] : [piece])))),
    [`PK15 ${A}`],
  ],
  [
    'entries in another order',
    file => fileOf(archive(swapped(pieces(file).map(([, piece]) => piece)))),
    ['PK15 folder/evidence/events.ndjson', 'SL5 evidence/events.ndjson'],
  ],
];

test('the rows above violate every pack rule, except those for intents and the one for the verifier', () => {
  const tested = new Set(breaches.flatMap(([, , broken]) => broken.map(line => line.split(' ')[0])));
  const elsewhere = new Set(['PK4', 'PK5', 'PK10']);
  expect(packRules.map(({ id }) => id).filter(id => !tested.has(id) && !elsewhere.has(id))).toEqual([]);
});

describe('a pack', async () => {
  const file = async (): Promise<string> => packOf(await scriptFolder());

  test.each(breaches)('with %s is invalid', async (_, tamper, broken) => {
    expect(await brokenIn(tamper(await file()))).toEqual(broken);
  });

  test('with several violations lists them by number and path (PK10)', async () => {
    const found = await brokenIn(tampered(await file(), { 'z.txt': 'x', 'folder/b.txt': 'x', 'pack.json': null }));
    expect(found).toEqual(['PK1 pack.json', 'PK2 folder/b.txt', 'PK2 z.txt']);
  });
});

describe('the ledger line in a pack', () => {
  const wrong: [string, object, Broken][] = [
    ['of this run is valid', {}, []],
    ['of another run is rejected', { run_id: 'script_other' }, ['PK9 ledger-line.json#run_id']],
    ['of another kind is rejected', { kind: 'suite' }, ['PK9 ledger-line.json#kind']],
    ['of another time is rejected', { sealed_at: '2026-01-01T00:00:00.000Z' }, ['PK9 ledger-line.json#sealed_at']],
    ['of another seal is rejected', { seal_sha256: bytesHash('x') }, ['PK9 ledger-line.json#seal_sha256']],
    [
      'with values of the wrong type is rejected',
      { sequence: 'x', run_id: 7 },
      ['LD3', 'LD5', 'PK9 ledger-line.json', 'PK9 ledger-line.json#run_id'],
    ],
  ];
  test.each(wrong)('%s', async (_, changes, broken) => {
    const folder = await scriptFolder();
    expect(await brokenIn(await packOf(folder, lineOf(folder, changes)))).toEqual(broken);
  });

  test('is a single ledger line in canonical JSON', async () => {
    const folder = await scriptFolder();
    const line = lineOf(folder);
    for (const text of [line.trimEnd(), `${line}${line}`, ` ${line}`, '{}\n', '7\n']) {
      expect(await brokenIn(await packOf(folder, text))).toContain('PK9 ledger-line.json');
    }
  });
});

describe('an archive', () => {
  const cuts: [string, (bytes: Buffer) => Buffer, RegExp][] = [
    ['is truncated in a header', bytes => bytes.subarray(0, 700), /beyond the end of the archive/],
    ['is truncated in its end marker', bytes => bytes.subarray(0, -512), /beyond the end of the archive/],
    ['is truncated before its end marker', bytes => bytes.subarray(0, 512 * 3), /beyond the end of the archive/],
    ['has bytes after its end', bytes => Buffer.concat([bytes, Buffer.from('x')]), /nothing after/],
    ['has empty blocks after its end', bytes => Buffer.concat([bytes, TAR_END]), /nothing after/],
    ['consists of two archives', bytes => Buffer.concat([bytes, bytes]), /nothing after/],
    [
      'states a wrong size',
      bytes => Buffer.concat([head(A, 0, 124, '77777777777'), bytes]),
      /beyond the end of the archive/,
    ],
    [
      'has a size in base 256',
      bytes => Buffer.concat([head(A, 0, 124, '\x80\0\0\0\0\0\0\0\0\0\0\x01'), bytes]),
      /octal/,
    ],
    ['has a negative size', bytes => Buffer.concat([head(A, 0, 124, '-0000000001'), bytes]), /octal/],
    ['has a wrong checksum', bytes => Buffer.concat([tarHead(A, 0).fill('x', 400, 410), bytes]), /checksum/],
    ['has another tar format', bytes => Buffer.concat([head(A, 0, 257, 'ustar  \0'), bytes]), /ustar/],
    [
      'has an extended header for something else',
      bytes => Buffer.concat([head('pax/path', 20, 156, 'x'), Buffer.alloc(512, '20 size=1\n'), bytes]),
      /not a single path/,
    ],
    [
      'has an extended header with two records',
      bytes => Buffer.concat([head('pax/path', 20, 156, 'x'), block('10 path=a\n10 path=b\n'), bytes]),
      /not a single path/,
    ],
    [
      'has an extended header that is too long',
      bytes => Buffer.concat([head('pax/path', 70_000, 156, 'x'), Buffer.alloc(70_144), bytes]),
      /too long/,
    ],
  ];
  test.each(cuts)('is invalid if it %s', async (_, change, message) => {
    const file = fileOf(change(bytesIn(await packOf(await scriptFolder()))));
    const verdicts = await verdictsOf(file);
    expect(verdicts).toHaveLength(1);
    const [verdict] = verdicts;
    expect(verdict?.outcome).toBe('invalid');
    expect(verdict?.violations.map(({ rule_id }) => rule_id)).toContain('PK15');
    expect(verdict?.violations.map(({ message: text }) => text).join()).toMatch(message);
  });

  test('is refused if it is not a tar archive', async () => {
    for (const bytes of [Buffer.from('\x1f\x8b\x08'), Buffer.alloc(0), Buffer.from('PK\x03\x04')]) {
      const [verdict] = await verdictsOf(fileOf(bytes));
      expect(verdict).toMatchObject({ outcome: 'refused', reason: { code: 'not_a_pack' } });
    }
  });

  test('is invalid, not refused, if nothing in it is usable', async () => {
    const broken = await brokenIn(fileOf(archive([entry('../a', 'x')])));
    expect(broken).toContain('PK7 ../a');
  });

  test('is invalid if it has an extended header for a path that needs none', async () => {
    const pax = Buffer.concat([head('pax/path', 28, 156, 'x'), block(`28 path=${A}\n`), entry(A, 'aaa')]);
    const file = await packOf(await scriptFolder());
    expect(await brokenIn(withHead(file, A, () => pax))).toEqual([`PK15 ${A}`]);
  });
});

const block = (text: string): Buffer => Buffer.concat([Buffer.from(text), Buffer.alloc(512 - text.length)]);

describe('the pack of a run', () => {
  test('gets the same verdict as its folder, and the verdict names what was not checked', async () => {
    const folder = await scriptFolder();
    const [whole, packed] = await Promise.all([verdictsOf(folder), verdictsOf(await packOf(folder))]);
    expect(packed.at(-1)).toMatchObject({ outcome: 'valid', violations: [], advice: whole.at(-1)?.advice });
    expect(packed.at(-1)?.not_checked).toContain('the internal files, which are not included');
    expect(packed.at(-1)?.documents?.contracts).toEqual({ ...whole.at(-1)?.documents?.contracts, pack: 1 });
    const withInternal = await verdictsOf(await packOf(folder, undefined, true));
    expect(withInternal.at(-1)?.outcome).toBe('valid');
    expect(withInternal.at(-1)?.not_checked.join()).not.toContain('internal files');
  });

  test('is recognised by its first bytes, whatever its name', async () => {
    const bytes = bytesIn(await packOf(await scriptFolder()));
    expect(await brokenIn(fileOf(bytes, 'evidence.bin'))).toEqual([]);
  });

  test('of a suite contains its unsealed evaluation, and is invalid if that is replaced', async () => {
    const folder = await suiteFolder(temporaryFolder(), { cases: [{ id: 'one' }, { id: 'pack' }, { id: 'run-2' }] });
    const file = await packOf(folder);
    expect(await brokenIn(file)).toEqual([]);
    writeFileSync(path.join(folder, 'evaluation.json'), '{}');
    const judged = await packOf(folder);
    expect(await brokenIn(tampered(judged, { 'folder/evaluation.json': '[]' }))).toContain('PK14 pack.json#unsealed');
  });
});

type Changes = Record<string, string | object | null>;

/** Changes that another tool accepted, and the violations that Proctor reports although the folder was sealed again. */
const tamperings: [string, (folder: string) => Changes, Broken][] = [
  ['nothing changed', () => ({}), []],
  ['a flipped decision', inRun({ 'decision.accepted': false }), ['RS8', 'PK3 run.json']],
  [
    'exit code 99 and an output with .., without hash or size',
    inRun({
      'execution.exit_code': 99,
      'execution.outputs': [{ path: '../../etc/passwd', sha256: 'x', size_bytes: -1 }],
    }),
    ['RS3', 'RS4', 'RS8', 'PK3 run.json'],
  ],
  [
    'an output with ..',
    inRun({ 'execution.outputs': [{ path: '../../etc/passwd', sha256: bytesHash('x'), size_bytes: 1 }] }),
    ['RS6', 'PK3 run.json'],
  ],
  [
    'an empty policy in both files',
    folder => ({ ...inRun({ policy: {} })(folder), 'policy.json': {} }),
    ['PL2', 'RS5', 'PK3 run.json', 'PK8 policy.json'],
  ],
  [
    'an absolute path, an invalid hash and a path of the sandbox',
    inRun({ 'intent.path': '/etc/x', 'intent.sha256': 'x', sandbox_path: '/tmp/x' }),
    ['RS4', 'RS6', 'PK3 run.json'],
  ],
  ['no bundle where one is required', inRun({ bundle: null }), ['RS3', 'PK3 run.json']],
  [
    'a changed bundle',
    folder => ({ 'bundle.json': changedIn(folder, 'bundle.json', { goal: 'Something else' }) }),
    ['FD3 run.json#bundle.sha256', 'PK5 run.json#bundle.sha256'],
  ],
  [
    'a changed bundle with an updated hash',
    folder => {
      const bundle = changedIn(folder, 'bundle.json', { goal: 'Something else' });
      return { 'bundle.json': bundle, ...inRun({ 'bundle.sha256': contentHash(bundle) })(folder) };
    },
    ['PK4 bundle.json'],
  ],
  [
    'other files in the bundle, with updated id and hash',
    folder => {
      const bundle = changedIn(folder, 'bundle.json', { 'files.0.sha256': bytesHash('x') });
      const bundle_id = bundleIdOf(bundle as Bundle);
      const named = { ...bundle, bundle_id };
      return {
        'bundle.json': named,
        ...inRun({ bundle: { bundle_id, sha256: contentHash(named) } })(folder),
      };
    },
    ['FD11 run.json#bundle', 'FD11 run.json#execution.sandbox_id'],
  ],
  ['an empty bundle', () => ({ 'bundle.json': { outputs: [null] } }), ['BU1', 'PK4 bundle.json']],
  ['no bundle.json', () => ({ 'bundle.json': null }), ['PK4 bundle.json']],
  [
    'a bundle of a refused run',
    inRun({
      bundle: null,
      execution: null,
      kernel_result_kind: 'REFUSE',
      refuse_reason: 'It asks too much.',
      decision: { accepted: false, reasons: ['refused'], validated_by_kernel: true },
    }),
    ['PK4 bundle.json'],
  ],
  ['an extra patch file', () => ({ 'patch.json': { operations: [null] } }), ['PK2 patch.json']],
  [
    'evidence that consists of numbers',
    () => ({ 'evidence/metadata.json': '[1,2,3]' }),
    ['AG1', 'PK8 evidence/metadata.json'],
  ],
  [
    'a runner record that consists of numbers',
    () => ({ 'evidence/runner.json': '7' }),
    ['RN1', 'PK8 evidence/runner.json'],
  ],
  ['another run', inRun({ run_id: 'intent_other' }), ['PK3 run.json#run_id']],
];

function inRun(changes: Record<string, unknown>): (folder: string) => Changes {
  return folder => ({ 'run.json': changedIn(folder, 'run.json', changes) });
}

describe('the pack of an intent', () => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  let folder = '';
  beforeAll(async () => {
    folder = await realIntent(cwd);
  });
  afterAll(() => rmSync(cwd, { recursive: true, force: true }));

  test.each(tamperings)('with %s, sealed again, has the expected violations', async (_, changes, broken) => {
    const found = await brokenIn(await packOf(await resealed(folder, changes(folder))));
    if (broken.length === 0) expect(found).toEqual([]);
    else expect(found).toEqual(expect.arrayContaining(broken));
  });

  test.each(tamperings.slice(1))('with %s and its old seal is also invalid', async (_, changes) => {
    const entries = Object.entries(changes(folder)).map(([name, content]): [string, string | null] => [
      `folder/${name}`,
      typeof content === 'object' && content !== null ? canonicalize(content) : content,
    ]);
    const found = await brokenIn(tampered(await packOf(folder), Object.fromEntries(entries)));
    expect(found.filter(line => /^(?:SL5|FD2|FD3|PK2|PK4)/.test(line))).not.toEqual([]);
  });

  test('with a ledger line that contradicts it is invalid', async () => {
    const entry = JSON.parse(lineOf(folder)) as { intent: object };
    const denied = lineOf(folder, { intent: { ...entry.intent, accepted: false } });
    expect(await brokenIn(await packOf(folder, lineOf(folder)))).toEqual([]);
    expect(await brokenIn(await packOf(folder, denied))).toEqual(['PK9 ledger-line.json#intent.accepted']);
    const planned = lineOf(folder, { intent: { ...entry.intent, mode: 'plan-only' } });
    expect(await brokenIn(await packOf(folder, planned))).toEqual(['PK9 ledger-line.json#intent.mode']);
  });

  test('with a violation has the same violation in its folder', async () => {
    const rules = async (input: string): Promise<string[]> =>
      (await verdictsOf(input)).flatMap(({ violations }) => violations.map(({ rule_id }) => rule_id));
    const flipped = await resealed(folder, inRun({ 'decision.accepted': false })(folder));
    const inFolder = await rules(flipped);
    expect(inFolder).toContain('RS8');
    expect(await rules(await packOf(flipped))).toEqual([...inFolder, 'PK3']);
  });
});

test('a script run with an unexpected file gives an invalid pack', async () => {
  const folder = await sealedFolder('script', SCRIPT_RUN, {
    'notes.txt': 'x',
    'result.json': '{"contract_version":1}',
  });
  expect(await brokenIn(await packOf(folder))).toEqual([
    'SR2',
    'SR3',
    'SR4',
    'SR5',
    'FD9 evidence/seal.json',
    'FD9 evidence/seal.json',
    'PK2 notes.txt',
    'PK3 result.json',
  ]);
});

test('archiveOf writes the same bytes as packing', async () => {
  const file = await packOf(await scriptFolder());
  expect(archiveOf(entriesOf(file)).equals(bytesIn(file))).toBe(true);
});
