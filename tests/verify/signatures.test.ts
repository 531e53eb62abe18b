import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import {
  openSeal,
  type SealEnvelope,
  type SealStatement,
  sealEnvelope,
  signerWith,
} from '../../src/contracts/seal/index.ts';
import { SEAL } from '../../src/evidence/run-folder/finish.ts';
import { folderRules } from '../../src/verify/folder-rules.ts';
import { type Options, type Verdict, verify } from '../../src/verify/index.ts';
import { captureOf, finishRun, plan, put, said, succeeded } from '../evidence/script/script-world.ts';
import { temporaryFolder } from '../support/support.ts';
import { brokenIn, verdictsOf } from './folders.ts';

const mine = generateKeyPairSync('ed25519');
const theirs = generateKeyPairSync('ed25519');
const pemOf = ({ publicKey }: typeof mine): string => publicKey.export({ type: 'spki', format: 'pem' }) as string;
const KEY = { key: pemOf(mine) };
const REQUIRED = { ...KEY, requireSignature: true };
const signer = signerWith(mine.privateKey);

/** The files of a run, as `finish` writes them. */
async function finished(by: typeof signer | undefined): Promise<Record<string, string>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  try {
    put(folder, 'output/a.txt', 'aaa');
    const reading = succeeded({ 'output/a.txt': 'aaa' });
    await finishRun(folder, captureOf({ how: 'exited', code: 0 }, said('hello\n'), said('')), reading, plan(), by);
    const names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)));
    return Object.fromEntries(names.map(name => [name, readFileSync(path.join(folder, name), 'latin1')]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const signed = await finished(signer);
const unsigned = await finished(undefined);

function laidOut(files: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [file, content] of Object.entries(files)) put(folder, file, Buffer.from(content, 'latin1'));
  return folder;
}

const sealIn = (files: Record<string, string>): SealEnvelope => JSON.parse(files[SEAL] as string) as SealEnvelope;

function statementIn(files: Record<string, string>): SealStatement {
  const opened = openSeal(sealIn(files));
  if (!opened.ok) throw new Error(opened.message);
  return opened.statement;
}

const withSeal = (files: Record<string, string>, seal: SealEnvelope): Record<string, string> => ({
  ...files,
  [SEAL]: canonicalize(seal),
});

/** A new list of files, as an attacker without the key would write it. */
function forged(files: Record<string, string>): { files: Record<string, string>; statement: SealStatement } {
  const statement = structuredClone(statementIn(files));
  for (const subject of statement.subject) {
    if (subject.name === 'output/a.txt') subject.digest.sha256 = bytesHash('bbb').slice(7);
  }
  return { files: { ...files, 'output/a.txt': 'bbb' }, statement };
}

const unsignedStatement = (statement: SealStatement): SealStatement => ({
  ...statement,
  predicate: { ...statement.predicate, signed: false },
});

type Forgery = [string, () => Record<string, string>, Options, string[]];

const forgeries: Forgery[] = [
  ['is signed, if no key is given', () => signed, {}, []],
  ['is signed with the key', () => signed, REQUIRED, []],
  ['is not signed and need not be', () => unsigned, KEY, []],
  ['is not signed but must be', () => unsigned, REQUIRED, [`SL10 ${SEAL}`]],
  ['is signed with another key', () => signed, { key: pemOf(theirs) }, [`SL8 ${SEAL}`]],
  [
    'was changed, with a new list under the old signature',
    () => {
      const { files, statement } = forged(signed);
      return withSeal(files, { ...sealEnvelope(statement), signatures: sealIn(signed).signatures });
    },
    KEY,
    [`SL9 ${SEAL}`],
  ],
  [
    'was changed and sealed again without a signature',
    () => {
      const { files, statement } = forged(signed);
      return withSeal(files, sealEnvelope(unsignedStatement(statement)));
    },
    REQUIRED,
    [`SL10 ${SEAL}`],
  ],
  [
    "was changed and signed with the attacker's key",
    () => {
      const { files, statement } = forged(signed);
      return withSeal(files, sealEnvelope(statement, signerWith(theirs.privateKey)));
    },
    KEY,
    [`SL8 ${SEAL}`],
  ],
  [
    "was changed and signed with the attacker's key under the signer's key id",
    () => {
      const { files, statement } = forged(signed);
      return withSeal(files, sealEnvelope(statement, { ...signerWith(theirs.privateKey), keyId: signer.keyId }));
    },
    KEY,
    [`SL9 ${SEAL}`],
  ],
  ['was changed under its seal', () => ({ ...signed, 'output/a.txt': 'bbb' }), KEY, ['SL5 output/a.txt']],
  ['has an extra file', () => ({ ...signed, 'output/b.txt': 'b' }), KEY, ['SL6 output/b.txt']],
  [
    'is signed, but its keyid was renamed, which no signature covers',
    () => ({ ...signed, [SEAL]: (signed[SEAL] as string).replace('"keyid"', '"keyie"') }),
    KEY,
    [`SL9 ${SEAL}`],
  ],
];

describe('the verifier', () => {
  test.each(forgeries)('gives the right verdict on a folder that %s', async (_, files, options, broken) => {
    expect(await brokenIn(laidOut(files()), options)).toEqual(broken);
  });

  test('is tested with every rule that needs a key', () => {
    const tested = new Set(forgeries.flatMap(([, , , broken]) => broken.map(line => line.split(' ')[0])));
    const needed = folderRules.map(({ id }) => id).filter(id => /^SL(?:[89]|\d\d)$/.test(id));
    expect(needed).toEqual(['SL8', 'SL9', 'SL10']);
    expect(needed.filter(id => !tested.has(id))).toEqual([]);
  });

  test('rejects a folder that lost its signatures, even without a key', async () => {
    const verdicts = await verdictsOf(laidOut(withSeal(signed, { ...sealIn(signed), signatures: [] })));
    expect(verdicts.flatMap(({ violations }) => violations.map(({ rule_id }) => rule_id))).toEqual(['SL4']);
  });
});

const lastOf = async (folder: string, options: Options = {}): Promise<Verdict> =>
  (await verdictsOf(folder, options)).at(-1) as Verdict;

describe('the verdict', () => {
  test('describes an unchecked signature, and an unsigned seal', async () => {
    expect(await lastOf(laidOut(signed))).toMatchObject({
      outcome: 'valid',
      signatures: { signed: 1, unsigned: 0, key_ids: [signer.keyId], checked: false },
      notes: [`The signature was not checked. Use --key FILE to check it. It names ${signer.keyId}.`],
    });
    expect(await lastOf(laidOut(unsigned))).toMatchObject({
      outcome: 'valid',
      signatures: { signed: 0, unsigned: 1, key_ids: [], checked: false },
      notes: ['An unsigned seal reveals accidental changes, but not forgery.'],
    });
  });

  test('describes a checked signature', async () => {
    const folder = laidOut(signed);
    expect(await lastOf(folder, KEY)).toMatchObject({ signatures: { signed: 1, checked: true }, notes: [] });
    expect(await lastOf(folder, { key: pemOf(theirs) })).toMatchObject({ signatures: { checked: false } });
  });

  test('describes an unsigned seal if a key is given', async () => {
    const { outcome, advice, notes } = await lastOf(laidOut(unsigned), KEY);
    expect({ outcome, notes }).toEqual({ outcome: 'valid', notes: [] });
    expect(advice.filter(({ rule_id }) => rule_id === 'SL10')).toHaveLength(1);
  });
});

describe('if signatures are required', () => {
  test('every run of a folder must have one', async () => {
    const both = temporaryFolder();
    cpSync(laidOut(signed), path.join(both, 'script', 'a'), { recursive: true });
    expect(await brokenIn(both, REQUIRED)).toEqual([]);
    cpSync(laidOut(unsigned), path.join(both, 'script', 'b'), { recursive: true });
    // The same run occurs twice, so its documents violate other rules. Only the folder itself is compared here.
    const { violations } = await lastOf(both, REQUIRED);
    expect(violations.map(({ rule_id, path }) => `${rule_id} ${path}`)).toEqual([`SL10 script/b/${SEAL}`]);
  });

  test('a folder without its seal is invalid, whatever it contains', async () => {
    const { [SEAL]: _, 'evidence/request.json': __, 'evidence/outcome.json': ___, ...others } = signed;
    const folder = laidOut(others);
    expect(await brokenIn(folder)).toEqual([]);
    expect((await brokenIn(folder, REQUIRED)).map(line => line.split(' ')[0])).toEqual(['SL10']);
    expect((await brokenIn(folder, KEY)).length).toBe(0);
  });

  test('evidence/ alone does not prove what was signed', async () => {
    const folder = laidOut(signed);
    const broken = await brokenIn(path.join(folder, 'evidence'), REQUIRED);
    expect(broken.map(line => line.split(' ')[0])).toContain('SL10');
  });

  test('a seal in the output covers nothing', async () => {
    const folder = temporaryFolder();
    cpSync(laidOut(signed), path.join(folder, 'output'), { recursive: true });
    cpSync(laidOut(unsigned), folder, { recursive: true });
    rmSync(path.join(folder, SEAL));
    expect((await brokenIn(folder, REQUIRED)).map(line => line.split(' ')[0])).toContain('SL10');
  });
});

describe('a key', () => {
  const asked = async (options: Options, input = temporaryFolder()): Promise<Verdict[]> => {
    const verdicts: Verdict[] = [];
    for await (const verdict of verify([input], options)) verdicts.push(verdict);
    return verdicts;
  };
  const privatePem = mine.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ type: 'spki', format: 'pem' });

  test('that is missing or not a public key is refused, and the message does not contain it', async () => {
    await expect(asked({ requireSignature: true })).rejects.toThrow('Specify it with --key FILE');
    await expect(asked({ key: privatePem })).rejects.toThrow('The key is a private key.');
    await expect(asked({ key: KEY.key + privatePem })).rejects.toThrow('The key is a private key.');
    for (const key of ['', 'x', KEY.key + KEY.key, KEY.key.slice(0, 60), rsa as string, 7 as never]) {
      await expect(asked({ key })).rejects.toThrow('The key is not an Ed25519 public key in PEM format');
    }
  });

  test('cannot verify a single document', async () => {
    const file = path.join(laidOut(signed), SEAL);
    expect(await asked(KEY, file)).toMatchObject([{ outcome: 'refused', reason: { code: 'usage' } }]);
    expect(await asked({}, file)).toMatchObject([{ outcome: 'valid' }]);
  });
});
