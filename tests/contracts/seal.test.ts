import { generateKeyPairSync, verify } from 'node:crypto';
import { dsse } from '@sigstore/core';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { compare } from '../../src/contracts/check.ts';
import { sealPieces } from '../../src/contracts/seal/envelope.ts';
import {
  openSeal,
  sealDocument,
  type SealEnvelope,
  seal,
  type SealStatement,
  sealEnvelope,
  sealStatement,
  signedBy,
  signerWith,
} from '../../src/contracts/seal/index.ts';
import { recognise } from '../../src/verify/recognise.ts';
import { adviceOf, judged, rulesOf } from '../support/support.ts';
import { judgedTitles } from './artifacts-words.ts';

const file = (path: string, content = path) => ({ path, sha256: bytesHash(content), bytes: content.length });

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const signer = signerWith(privateKey);

function statement(files = [file('result.json'), file('evidence/runner.json')]): SealStatement {
  return sealStatement({ runId: 'script_1', kind: 'script', sealedAt: '2026-04-03T10:15:07.412Z', files });
}

const encoded = (text: string): object => ({
  ...sealEnvelope(statement()),
  payload: Buffer.from(text).toString('base64'),
});

/** An envelope around a changed statement. */
const around = (changes: object): object => encoded(canonicalize({ ...statement(), ...changes }));
const subjects = (...subject: unknown[]): object => around({ subject });
const [first, second] = statement().subject as [object, object];

describe('a seal', () => {
  test.each([0, 1, 2, 3, 255, 256, 257, 1_000])('written in pieces has the same text, for %i files', count => {
    const files = Array.from({ length: count }, (_, index) => file(`ä-${'x'.repeat(index % 7)}-${index}.json`));
    const sealed = { runId: 'suite_1', kind: 'suite', sealedAt: '2026-04-03T10:15:07.412Z' } as const;
    const sorted = [...files].sort((a, b) => compare(a.path, b.path));
    const text = [...sealPieces({ ...sealed, files: sorted })].join('');
    expect(text).toBe(canonicalize(sealDocument(sealStatement({ ...sealed, files }))));
  });

  test.each([0, 1, 256, 1_000])('signed in pieces has the same text, for %i files', count => {
    const files = Array.from({ length: count }, (_, index) => file(`ä-${String(index).padStart(4, '0')}.json`));
    const sealed = { runId: 'suite_1', kind: 'suite', sealedAt: '2026-04-03T10:15:07.412Z', files } as const;
    const text = [...sealPieces(sealed, signer)].join('');
    expect(text).toBe(canonicalize(sealDocument(sealStatement(sealed), signer)));
    expect(signedBy(publicKey, JSON.parse(text) as SealEnvelope)).toBe('right');
  });

  test('that is too large for verifiers is not signed', () => {
    const long = 'x'.repeat(4_000);
    const files = (function* () {
      for (let index = 10_000; index < 30_000; index++) yield file(`${index}-${long}`, '');
    })();
    const pieces = sealPieces({ runId: 'a', kind: 'suite', sealedAt: '2026-04-03T10:15:07.412Z', files }, signer);
    expect(() => {
      for (const piece of pieces) void piece;
    }).toThrow('The run created more files than one seal can list.');
  });

  test('is a DSSE envelope around an in-toto statement with the digest and size of every file', () => {
    const envelope = sealEnvelope(statement());
    expect(envelope).toMatchObject({ payloadType: 'application/vnd.in-toto+json', signatures: [] });
    const text = Buffer.from(envelope.payload, 'base64').toString();
    expect(JSON.parse(text)).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [
        {
          name: 'evidence/runner.json',
          digest: { sha256: bytesHash('evidence/runner.json').slice(7) },
          annotations: { size_bytes: 20 },
        },
        { name: 'result.json', digest: { sha256: bytesHash('result.json').slice(7) }, annotations: { size_bytes: 11 } },
      ],
      predicateType: 'urn:proctor:run-folder:v1',
      predicate: {
        schema_version: 'seal.v1',
        run_id: 'script_1',
        kind: 'script',
        sealed_at: '2026-04-03T10:15:07.412Z',
        signed: false,
      },
    });
    expect(canonicalize(JSON.parse(text))).toBe(text);
  });

  test('opens to the original statement, sorted by UTF-16 code unit', () => {
    const names = ['b', 'a/b', 'a-b', 'a', 'B', 'é', '\u{1f600}', '\uff01'];
    const made = statement(names.map(name => file(name)));
    expect(openSeal(sealEnvelope(made))).toEqual({ ok: true, statement: made });
    expect(made.subject.map(({ name }) => name)).toEqual([...names].sort());
  });

  test('may cover no files', () => {
    expect(openSeal(sealEnvelope(statement([])))).toMatchObject({ ok: true });
  });
});

describe('a signed seal', () => {
  const envelope = sealEnvelope(statement(), signer);
  const [{ sig, keyid }] = envelope.signatures as [{ sig: string; keyid: string }];

  test('is valid, states that it is signed, and names the key by the hash of its DER', async () => {
    expect(await judged(seal, envelope, { strict: true })).toMatchObject({ outcome: 'valid', advice: [] });
    expect(openSeal(envelope)).toMatchObject({ ok: true, statement: { predicate: { signed: true } } });
    expect(keyid).toBe(bytesHash(publicKey.export({ type: 'spki', format: 'der' })));
  });

  test('signs the DSSE pre-authentication encoding', () => {
    const message = dsse.preAuthEncoding(envelope.payloadType, Buffer.from(envelope.payload, 'base64'));
    expect(verify(null, message, publicKey, Buffer.from(sig, 'base64'))).toBe(true);
  });

  const other = generateKeyPairSync('ed25519');
  const theirs = sealEnvelope(statement(), signerWith(other.privateKey)).signatures;
  const answers: [string, object, string][] = [
    ['that is unchanged verifies', {}, 'right'],
    ['without a key id verifies', { signatures: [{ sig }] }, 'right'],
    ['with another signature first verifies', { signatures: [...theirs, { sig, keyid }] }, 'right'],
    ['with only a signature by another key counts as signed by another key', { signatures: theirs }, 'by another key'],
    [
      'with a signature by another key under its key id does not verify',
      { signatures: [{ ...theirs[0], keyid }] },
      'wrong',
    ],
    [
      'with the id of another key counts as signed by another key',
      { signatures: [{ ...theirs[0], sig }] },
      'by another key',
    ],
    ['around another statement does not verify', { payload: sealEnvelope(statement([]), signer).payload }, 'wrong'],
    ['with a truncated signature does not verify', { signatures: [{ keyid, sig: sig.slice(0, 40) }] }, 'wrong'],
    ['with a signature that is not base64 does not verify', { signatures: [{ keyid, sig: '#' }] }, 'wrong'],
    [
      'with a signature without padding does not verify',
      { signatures: [{ keyid, sig: sig.replace(/=+$/, '') }] },
      'wrong',
    ],
    ['without a signature counts as signed by another key', { signatures: [] }, 'by another key'],
  ];
  test.each(answers)('%s', (_, changes, answer) => {
    expect(signedBy(publicKey, { ...envelope, ...changes })).toBe(answer);
  });

  test.each(['payload', 'sig'] as const)('becomes invalid if any byte of its %s changes', part => {
    const bytes = Buffer.from(part === 'sig' ? sig : envelope.payload, 'base64');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8((changed.readUInt8(at) + 1) % 256, at);
      const text = changed.toString('base64');
      const forged = part === 'sig' ? { signatures: [{ keyid, sig: text }] } : { payload: text };
      expect(signedBy(publicKey, { ...envelope, ...forged }), `byte ${at}`).toBe('wrong');
    }
  });
});

const JUDGEMENT = 'judgement-seal.v1';

const broken: [string, object, string[]][] = [
  ['that is complete', sealEnvelope(statement()), []],
  ['that names its format', sealDocument(statement()), []],
  ['that names a future format', { ...sealEnvelope(statement()), schema_version: 'seal.v2' }, ['SL1']],
  ['that names the format of another seal', { ...sealEnvelope(statement()), schema_version: JUDGEMENT }, ['SL1']],
  ['of another type', { ...sealEnvelope(statement()), payloadType: 'text/plain' }, ['SL1']],
  ['without signatures', { ...sealEnvelope(statement()), signatures: undefined }, ['SL1']],
  ['with an empty signature', { ...sealEnvelope(statement()), signatures: [{ sig: '' }] }, ['SL1']],
  ['without a payload', { ...sealEnvelope(statement()), payload: undefined }, ['SL2']],
  ['in URL-safe base64', { ...sealEnvelope(statement()), payload: '_-8=' }, ['SL2']],
  ['in base64 without padding', { ...sealEnvelope(statement()), payload: 'e30' }, ['SL2']],
  ['in base64 with stray bits', { ...sealEnvelope(statement()), payload: 'e31=' }, ['SL2']],
  ['in base64 with a line break', { ...sealEnvelope(statement()), payload: 'e3\n0=' }, ['SL2']],
  ['around nothing', encoded(''), ['SL2']],
  ['around invalid JSON', encoded('{'), ['SL2']],
  ['around JSON with a duplicate key', encoded('{"_type":1,"_type":2}'), ['SL2']],
  ['around non-canonical JSON', encoded(JSON.stringify(statement(), null, 1)), ['SL2']],
  ['around a list', encoded('[]'), ['SL2']],
  ['around null', encoded('null'), ['SL2']],
  ['around a statement of another version', around({ _type: 'https://in-toto.io/Statement/v0.1' }), ['SL2']],
  ['around a statement of another tool', around({ predicateType: 'https://slsa.dev/provenance/v1' }), ['SL2']],
  ['around an empty predicate', around({ predicate: {} }), ['SL2', 'SL2', 'SL2', 'SL2', 'SL2']],
  ['of an unknown kind', around({ predicate: { ...statement().predicate, kind: 'ritual' } }), ['SL2']],
  ['without subjects', encoded(canonicalize({ ...statement(), subject: null })), ['SL3']],
  ['with a duplicate file', subjects(first, first), ['SL3']],
  ['with files out of order', subjects(second, first), ['SL3']],
  ['with a subject that is not an object', subjects(7), ['SL3']],
  ['with a file without a size', subjects({ ...first, annotations: {} }), ['SL3']],
  ['with a file without a digest', subjects({ ...first, digest: { md5: 'x' } }), ['SL3']],
  ...['', '/etc/passwd', '../x', 'a/../b', './a', 'a//b', 'a/', '~/x', 'a\u0000'].map(
    (name): [string, object, string[]] => [
      `with a file named ${JSON.stringify(name)}`,
      subjects({ ...first, name }),
      ['SL3'],
    ],
  ),
  ['without the signatures that it states', around({ predicate: { ...statement().predicate, signed: true } }), ['SL4']],
  ['with a signature that it does not state', { ...sealEnvelope(statement()), signatures: [{ sig: 'AAAA' }] }, ['SL4']],
];

test.each(judgedTitles(broken))('a seal %s', async (_, envelope, rules) => {
  const value = JSON.parse(JSON.stringify(envelope)) as unknown;
  expect(rulesOf(await judged(seal, value))).toEqual(rules);
  const opened = openSeal(value);
  // openSeal does not compare `signed` with the signatures.
  expect(opened.ok, opened.ok ? '' : opened.message).toBe(rules.every(rule => rule === 'SL4'));
});

test('unknown keys are advice, and violations in strict mode', async () => {
  const envelope = around({ extra: 1 });
  expect(adviceOf(await judged(seal, envelope))).toEqual(['SL2']);
  expect(rulesOf(await judged(seal, envelope, { strict: true }))).toEqual(['SL2']);
});

test('a seal is recognised by its format, and an old one by its file name', () => {
  expect(recognise(sealDocument(statement()), 'copy.json')).toEqual({ name: 'seal' });
  expect(recognise(sealEnvelope(statement()), 'seal.json')).toEqual({ name: 'seal' });
});

test.each([null, 7, 'x', [], {}, { payload: 7 }])('openSeal rejects %j', value => {
  expect(openSeal(value)).toMatchObject({ ok: false });
});
