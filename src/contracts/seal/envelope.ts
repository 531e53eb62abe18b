import path from 'node:path';
import * as z from 'zod/mini';
import { canonicalize, isCanonical } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { unsafePath } from '../../base/path.ts';
import { placeOf } from '../../base/place.ts';
import { MIB } from '../contract.ts';
import { formOf } from '../form.ts';
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

/** A DSSE envelope inside of another document, which says what it is. */
export const innerEnvelopeShape = record(envelopeKeys);

/** As a file of its own it names its format. Seals from before that do not. */
const envelopeOf = <Version extends string>(version: Version) =>
  record({ schema_version: z.optional(z.literal(version)), ...envelopeKeys });

export const envelopeShape = envelopeOf('seal.v1');
export const judgementEnvelopeShape = envelopeOf('judgement-seal.v1');

type InnerEnvelope = z.infer<typeof innerEnvelopeShape>;

export type SealEnvelope = InnerEnvelope & { readonly schema_version?: string | undefined };

/** What an envelope may hold: files, and what is said of them. */
interface Statement {
  readonly subject: readonly object[];
  readonly predicate: object;
}

/** A statement as it is stored: with a signature, if there is a signer. */
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

/** The same as a file of its own, which names its format. */
export function sealDocument(
  statement: Statement & { readonly predicate: { readonly schema_version: string } },
  signer?: Signer,
): SealEnvelope {
  return { schema_version: statement.predicate.schema_version, ...sealEnvelope(statement, signer) };
}

/**
 * The text of the same document, piece by piece, for files that are sorted by path: the list of a hundred thousand files
 * is never held as one text, nor as base64. Only who signs it must hold its bytes: the signature is over all of them.
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
    // Base64 goes by three bytes.
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

/** Gathers what is to be signed. */
class Signing {
  readonly #signer: Signer;
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  constructor(signer: Signer) {
    this.#signer = signer;
  }

  take(part: Buffer): void {
    this.#bytes += part.length;
    // Nobody would read it, so nobody signs it.
    if (this.#bytes > STATEMENT_BYTES_MAX) {
      throw new Fault('too_many_files', 'The run has left more files than one seal can name.');
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

export type Opened =
  | { readonly ok: true; readonly statement: SealStatement }
  | { readonly ok: false; readonly message: string };

/** The statement in an envelope of unknown origin, judged as far as can be without its files. Never throws. */
export function openSeal(envelope: unknown): Opened {
  const [fault] = formOf(envelopeShape).faults(envelope, '');
  if (fault) return closed(fault);
  const content = contentOf((envelope as SealEnvelope).payload);
  if (!content.ok) return closed({ path: 'payload', message: content.message });
  for (const trouble of statementTroubles(content.value)) return closed(trouble);
  for (const trouble of subjectTroubles(content.value)) return closed(trouble);
  return { ok: true, statement: content.value as SealStatement };
}

/** Where a statement is not what it must be. The message continues the place. */
export interface Trouble {
  readonly path: string;
  readonly message: string;
}

type Content = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

/** What a payload holds. There is one way only to write a statement, so that no two readers read two. */
export function contentOf(payload: string): Content {
  if (payload.length > Math.ceil(STATEMENT_BYTES_MAX / 3) * 4) return { ok: false, message: 'is too large' };
  const bytes = Buffer.from(payload, 'base64');
  if (!isBase64Of(payload, bytes)) return { ok: false, message: 'is not standard base64 with padding' };
  const reading = readJson(bytes, { bytesMax: STATEMENT_BYTES_MAX });
  if (!reading.ok) return { ok: false, message: 'does not hold one JSON document' };
  if (!isCanonical(reading.value, reading.text)) return { ok: false, message: 'does not hold canonical JSON' };
  return { ok: true, value: reading.value };
}

/** Compares piece by piece: a payload may have 64 MiB, and encoding it whole would take as much again. */
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

/** A hundred thousand files with names of full length fit. */
const STATEMENT_BYTES_MAX = 64 * MIB;

/** What is wrong with a statement, its subjects aside. */
export function* statementTroubles(statement: unknown, shape: Shape = statementShape): Generator<Trouble> {
  for (const { path, message } of shapeFaults(statement, shape)) {
    if (!isAboutSubjects(path)) yield { path: inPayload(path), message };
  }
}

/** What is wrong with the list of files. */
export function* subjectTroubles(statement: unknown, shape: Shape = statementShape): Generator<Trouble> {
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
    const unsafe =
      unsafePath(name) ?? (path.posix.normalize(name) === name ? undefined : 'is not in its shortest form');
    if (unsafe) yield { path: at, message: unsafe };
    if (previous === name) yield { path: at, message: 'stands here twice' };
    else if (previous !== undefined && name < previous) yield { path: at, message: 'breaks the sorted order' };
    previous = name;
  }
}

/** A statement that fits has no faults. Looking for them takes ten times as long. */
function shapeFaults(statement: unknown, shape: Shape): Iterable<Trouble> {
  const form = formOf(shape);
  return form.fits(statement) ? [] : form.faults(statement, '');
}

/** Keys that nobody knows. */
export function* unknownIn(statement: unknown, shape: Shape = statementShape): Generator<Trouble> {
  for (const { parent, key } of formOf(shape).unknown(statement, '')) {
    yield { path: placeOf(inPayload(parent), key), message: 'is a key that this format does not know' };
  }
}

function isAboutSubjects(path: string): boolean {
  return /^subject(?:$|\[)/.test(path);
}

function inPayload(path: string): string {
  return path === '' ? 'payload' : `payload.${path}`;
}

function closed({ path, message }: Trouble): Opened {
  return { ok: false, message: `${path === '' ? 'The seal' : path} ${message}.` };
}
