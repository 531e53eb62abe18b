import path from 'node:path';
import * as z from 'zod/mini';
import { canonicalize } from '../../base/canonical.ts';
import { readJson } from '../../base/json.ts';
import { unsafePath } from '../../base/path.ts';
import { placeOf } from '../../base/place.ts';
import { MIB } from '../contract.ts';
import { formOf } from '../form.ts';
import { filledText, record } from '../shape.ts';
import {
  type Sealed,
  type SealedFile,
  type SealStatement,
  sealStatement,
  statementShape,
  subjectText,
} from './statement.ts';

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

/** A DSSE envelope. */
export const envelopeShape = record({
  payloadType: z.literal(PAYLOAD_TYPE),
  payload: z.string(),
  signatures: z.array(record({ keyid: z.optional(z.string()), sig: filledText() })).check(z.maxLength(16)),
});

export type SealEnvelope = z.infer<typeof envelopeShape>;

/** The statement as it is stored. Nobody has signed it yet. */
export function sealEnvelope(statement: SealStatement): SealEnvelope {
  return {
    payloadType: PAYLOAD_TYPE,
    payload: Buffer.from(canonicalize(statement)).toString('base64'),
    signatures: [],
  };
}

/**
 * The text of the same envelope, piece by piece, for files that are sorted by path: the list of a hundred thousand files
 * is never held as one text, nor as base64.
 */
export function* sealPieces(
  sealed: Omit<Sealed, 'files'> & { readonly files: Iterable<SealedFile> },
): Generator<string> {
  const { subject: _, ...rest } = sealStatement({ ...sealed, files: [] });
  const [before, after] = canonicalize({ ...rest, subject: [] }).split(/(?<="subject":\[)(?=\]\}$)/) as [
    string,
    string,
  ];
  yield '{"payload":"';
  let held = Buffer.from(before);
  let separator = '';
  for (const files of batches(sealed.files)) {
    const text = files.map(subjectText).join(',');
    held = Buffer.concat([held, Buffer.from(separator + text)]);
    separator = ',';
    // Base64 goes by three bytes.
    const whole = held.length - (held.length % 3);
    yield held.toString('base64', 0, whole);
    held = held.subarray(whole);
  }
  yield Buffer.concat([held, Buffer.from(after)]).toString('base64');
  yield `","payloadType":"${PAYLOAD_TYPE}","signatures":[]}`;
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
  if (bytes.toString('base64') !== payload) return { ok: false, message: 'is not standard base64 with padding' };
  const reading = readJson(bytes, { bytesMax: STATEMENT_BYTES_MAX });
  if (!reading.ok) return { ok: false, message: 'does not hold one JSON document' };
  if (canonicalize(reading.value) !== reading.text) return { ok: false, message: 'does not hold canonical JSON' };
  return { ok: true, value: reading.value };
}

/** A hundred thousand files with names of full length fit. */
const STATEMENT_BYTES_MAX = 64 * MIB;

/** What is wrong with a statement, its subjects aside. */
export function* statementTroubles(statement: unknown): Generator<Trouble> {
  for (const { path, message } of formOf(statementShape).faults(statement, '')) {
    if (!isAboutSubjects(path)) yield { path: inPayload(path), message };
  }
}

/** What is wrong with the list of files. */
export function* subjectTroubles(statement: unknown): Generator<Trouble> {
  for (const { path, message } of formOf(statementShape).faults(statement, '')) {
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

/** Keys that nobody knows. */
export function* unknownIn(statement: unknown): Generator<Trouble> {
  for (const { parent, key } of formOf(statementShape).unknown(statement, '')) {
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
