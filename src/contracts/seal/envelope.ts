import path from 'node:path';
import * as z from 'zod/mini';
import { canonicalize, isCanonical } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { unsafePath } from '../../base/path.ts';
import { placeOf } from '../../base/place.ts';
import { MIB } from '../contract.ts';
import { formOf } from '../form.ts';
import { OUT_OF_ORDER } from '../lists.ts';
import { UNKNOWN_KEY } from '../rule.ts';
import { filledText, record, type Shape } from '../shape.ts';
import { PAYLOAD_TYPE, type Signer } from './signature.ts';
import {
  type Sealed,
  type SealedFile,
  type SealStatement,
  sealStatement,
  statementShape,
  subjectText,
} from './statement.ts';

const envelopeKeys = {
  payloadType: z.literal(PAYLOAD_TYPE),
  payload: z.string(),
  signatures: z.array(record({ keyid: z.optional(z.string()), sig: filledText() })).check(z.maxLength(16)),
};

/** A DSSE envelope inside another document. */
export const innerEnvelopeShape = record(envelopeKeys);

/** A separate seal file names its format. Old seals do not. */
const envelopeOf = <Version extends string>(version: Version) =>
  record({ schema_version: z.optional(z.literal(version)), ...envelopeKeys });

export const envelopeShape = envelopeOf('seal.v1');
export const judgementEnvelopeShape = envelopeOf('judgement-seal.v1');
export const expiryEnvelopeShape = envelopeOf('expiry.v1');
export const attemptEnvelopeShape = envelopeOf('attempt-outcome.v1');

type InnerEnvelope = z.infer<typeof innerEnvelopeShape>;

export type SealEnvelope = InnerEnvelope & { readonly schema_version?: string | undefined };

/** An in-toto statement. */
interface Statement {
  readonly subject: readonly object[];
  readonly predicate: object;
}

/** Wraps a statement in an envelope, and signs it if there is a signer. */
export function sealEnvelope(statement: Statement, signer?: Signer): InnerEnvelope {
  const { predicate } = statement;
  const stated = signer ? { ...statement, predicate: { ...predicate, signed: true } } : statement;
  const payload = Buffer.from(canonicalize(stated));
  return {
    payloadType: PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: signer ? [{ keyid: signer.keyId, sig: signer.sign([payload]) }] : [],
  };
}

/** The same, as a separate document that names its format. */
export function sealDocument(
  statement: Statement & { readonly predicate: { readonly schema_version: string } },
  signer?: Signer,
): SealEnvelope {
  return { schema_version: statement.predicate.schema_version, ...sealEnvelope(statement, signer) };
}

/**
 * Yields the text of the same document in pieces, for files sorted by path. Never builds one large string, because a seal
 * can list 100,000 files. Only a signer buffers all bytes, because the signature covers them.
 */
export function* sealPieces(
  sealed: Omit<Sealed, 'files'> & { readonly files: Iterable<SealedFile> },
  signer?: Signer,
): Generator<string> {
  const { subject: _, ...rest } = sealStatement({ ...sealed, files: [], signed: signer !== undefined });
  const [before, after] = canonicalize({ ...rest, subject: [] }).split(/(?<="subject":\[)(?=\]\}$)/) as [
    string,
    string,
  ];
  const signing = signer && new Signing(signer);
  yield '{"payload":"';
  let held = Buffer.from(before);
  let separator = '';
  for (const files of batches(sealed.files)) {
    const text = files.map(subjectText).join(',');
    held = Buffer.concat([held, Buffer.from(separator + text)]);
    separator = ',';
    // Base64 encodes groups of three bytes.
    const whole = held.length - (held.length % 3);
    signing?.take(held.subarray(0, whole));
    yield held.toString('base64', 0, whole);
    held = held.subarray(whole);
  }
  const last = Buffer.concat([held, Buffer.from(after)]);
  signing?.take(last);
  yield last.toString('base64');
  const { schema_version: version } = rest.predicate;
  yield `","payloadType":"${PAYLOAD_TYPE}","schema_version":"${version}","signatures":${signing ? signing.signatures() : '[]'}}`;
}

/** Collects the bytes to sign. */
class Signing {
  readonly #signer: Signer;
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  constructor(signer: Signer) {
    this.#signer = signer;
  }

  take(part: Buffer): void {
    this.#bytes += part.length;
    // Verifiers reject a larger statement, so do not sign it.
    if (this.#bytes > STATEMENT_BYTES_MAX) {
      throw new Fault('too_many_files', 'The run created more files than one seal can list.');
    }
    this.#parts.push(part);
  }

  signatures(): string {
    return canonicalize([{ keyid: this.#signer.keyId, sig: this.#signer.sign(this.#parts) }]);
  }
}

function* batches(files: Iterable<SealedFile>): Generator<readonly SealedFile[]> {
  let batch: SealedFile[] = [];
  for (const file of files) {
    batch.push(file);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

const BATCH = 256;

export type OpenedStatement =
  | { readonly ok: true; readonly statement: SealStatement }
  | { readonly ok: false; readonly message: string };

/** Opens an untrusted envelope and checks its statement, but not its files. Never throws. */
export function openSeal(envelope: unknown): OpenedStatement {
  const [fault] = formOf(envelopeShape).faults(envelope, '');
  if (fault) return closed(fault);
  const content = payloadContent((envelope as SealEnvelope).payload);
  if (!content.ok) return closed({ path: 'payload', message: content.message });
  for (const trouble of statementFaults(content.value)) return closed(trouble);
  for (const trouble of subjectFaults(content.value)) return closed(trouble);
  return { ok: true, statement: content.value as SealStatement };
}

/** A fault in a statement. The message follows the path. */
export interface StatementFault {
  readonly path: string;
  readonly message: string;
}

type Content = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

/** Decodes a payload. Only canonical JSON is accepted, so that all readers see the same statement. */
export function payloadContent(payload: string): Content {
  if (payload.length > Math.ceil(STATEMENT_BYTES_MAX / 3) * 4) return { ok: false, message: 'is too large' };
  const bytes = Buffer.from(payload, 'base64');
  if (!isBase64Of(payload, bytes)) return { ok: false, message: 'is not standard base64 with padding' };
  const reading = readJson(bytes, { bytesMax: STATEMENT_BYTES_MAX });
  if (!reading.ok) return { ok: false, message: 'is not one JSON document' };
  if (!isCanonical(reading.value, reading.text)) return { ok: false, message: 'is not canonical JSON' };
  return { ok: true, value: reading.value };
}

/** Compares piece by piece, because a payload can be 64 MiB, and encoding it as a whole would need as much again. */
function isBase64Of(text: string, bytes: Buffer): boolean {
  let at = 0;
  for (let from = 0; from < bytes.length; from += BASE64_PIECE_BYTES) {
    const piece = bytes.toString('base64', from, from + BASE64_PIECE_BYTES);
    if (!text.startsWith(piece, at)) return false;
    at += piece.length;
  }
  return at === text.length;
}

/** A multiple of three, so that only the last piece is padded. */
const BASE64_PIECE_BYTES = 3 * 16_384;

/** Enough for 100,000 files with names of maximum length. */
const STATEMENT_BYTES_MAX = 64 * MIB;

/** Checks a statement except its subjects. */
export function* statementFaults(statement: unknown, shape: Shape = statementShape): Generator<StatementFault> {
  for (const { path, message } of shapeFaults(statement, shape)) {
    if (!isAboutSubjects(path)) yield { path: inPayload(path), message };
  }
}

/** Checks the list of files. */
export function* subjectFaults(statement: unknown, shape: Shape = statementShape): Generator<StatementFault> {
  for (const { path, message } of shapeFaults(statement, shape)) {
    if (isAboutSubjects(path)) yield { path: inPayload(path), message };
  }
  const { subject } = (statement ?? {}) as { subject?: unknown };
  if (!Array.isArray(subject)) return;
  let previous: string | undefined;
  for (const [index, entry] of subject.entries()) {
    const name: unknown = (entry as { name?: unknown } | null)?.name;
    if (typeof name !== 'string') continue;
    const at = `payload.subject[${index}].name`;
    const unsafe = unsafePath(name) ?? (path.posix.normalize(name) === name ? undefined : 'is not normalized');
    if (unsafe) yield { path: at, message: unsafe };
    if (previous === name) yield { path: at, message: 'is a duplicate' };
    else if (previous !== undefined && name < previous) yield { path: at, message: OUT_OF_ORDER };
    previous = name;
  }
}

/** Fast path: a statement that fits the shape has no faults. Looking for faults takes ten times as long. */
function shapeFaults(statement: unknown, shape: Shape): Iterable<StatementFault> {
  const form = formOf(shape);
  return form.fits(statement) ? [] : form.faults(statement, '');
}

export function* unknownIn(statement: unknown, shape: Shape = statementShape): Generator<StatementFault> {
  for (const { parent, key } of formOf(shape).unknown(statement, '')) {
    yield { path: placeOf(inPayload(parent), key), message: UNKNOWN_KEY };
  }
}

/** A signature covers `signed` in the statement, but not the list of signatures: the two must agree. */
export function* signedFaults(
  statement: unknown,
  { signatures }: Pick<SealEnvelope, 'signatures'>,
): Generator<StatementFault> {
  const signed: unknown = (statement as { predicate?: { signed?: unknown } | null } | null)?.predicate?.signed;
  if (signed === true && signatures.length === 0) {
    yield { path: 'signatures', message: 'must not be empty, because the statement says it is signed' };
  }
  if (signed === false && signatures.length > 0) {
    yield { path: 'signatures', message: 'must be empty, because the statement says it is not signed' };
  }
}

/** An unsigned envelope around a changed statement, for the breaches of rules. */
export function restated<Content extends Statement>(
  envelope: SealEnvelope,
  change: (statement: Content) => Content,
): SealEnvelope {
  const content = payloadContent(envelope.payload);
  return content.ok ? sealEnvelope(change(content.value as Content)) : envelope;
}

function isAboutSubjects(path: string): boolean {
  return /^subject(?:$|\[)/.test(path);
}

function inPayload(path: string): string {
  return path === '' ? 'payload' : `payload.${path}`;
}

function closed({ path, message }: StatementFault): OpenedStatement {
  return { ok: false, message: `${path === '' ? 'The seal' : path} ${message}.` };
}
