import { printable } from '../base/printable.ts';
import {
  type PublishedScript,
  isDay,
  type ScriptInput,
  TEXT_LENGTH,
  UPLOAD_BYTES,
  writtenBytes,
} from '../contracts/published-script/index.ts';
import { extensionOf, safeLabel } from './file-names.ts';
import { matchesWhole } from './patterns.ts';

/** A file that a user uploaded: where its bytes are, and the name that the user's machine gave it. */
export interface UploadedFile {
  /** The input that it belongs to. */
  readonly field: string;
  readonly name: string;
  readonly bytes: number;
  /** A file that only this server writes to. */
  readonly file: string;
}

/** What is wrong with one field of the form. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/** A file for `input/`, under a name that Proctor chose. */
export interface StagedUpload {
  readonly name: string;
  readonly source: string;
}

export type TypedInputs =
  | {
      readonly ok: true;
      readonly values: Readonly<Record<string, InputValue>>;
      readonly uploads: readonly StagedUpload[];
    }
  | { readonly ok: false; readonly faults: readonly FieldFault[] };

/** A value in inputs.json. An optional input without a value is null. */
type InputValue = string | number | null | UploadValue | readonly UploadValue[];

interface UploadValue {
  /** Relative to the work folder. */
  readonly path: string;
  /** The name that the user's machine gave it, without misleading characters. Never use it as a path. */
  readonly label: string;
  readonly bytes: number;
}

const FAULTS_MAX = 100;
const UPLOADS_PER_INPUT_MAX = 100;

/** Checks what a form sent against the declared inputs. Texts come from a form, so a number may arrive as text. */
export function typedInputs(
  { inputs = [] }: Pick<PublishedScript, 'inputs'>,
  given: Readonly<Record<string, unknown>>,
  uploads: readonly UploadedFile[],
): TypedInputs {
  const faults: FieldFault[] = [];
  const values: Record<string, InputValue> = {};
  const staged: StagedUpload[] = [];
  const known = new Map(inputs.map(input => [input.name, input]));
  for (const field of [...Object.keys(given), ...uploads.map(upload => upload.field)]) {
    const kind = known.get(field)?.kind;
    if (kind === undefined)
      faults.push({ field: printable(field).slice(0, 100), message: 'This input does not exist.' });
  }
  for (const input of inputs) {
    const own = uploads.filter(({ field }) => field === input.name);
    const value = input.kind === 'file' ? undefined : Object.hasOwn(given, input.name) ? given[input.name] : undefined;
    const typed = input.kind === 'file' ? fileValue(input, own) : plainValue(input, value, own);
    if ('message' in typed) faults.push({ field: input.name, message: typed.message });
    else {
      values[input.name] = typed.value;
      staged.push(...(typed.uploads ?? []));
    }
    if (input.kind === 'file' && Object.hasOwn(given, input.name) && given[input.name] !== '')
      faults.push({ field: input.name, message: 'Upload a file.' });
  }
  return faults.length > 0 ? { ok: false, faults: faults.slice(0, FAULTS_MAX) } : { ok: true, values, uploads: staged };
}

type Typed = { readonly value: InputValue; readonly uploads?: readonly StagedUpload[] } | { readonly message: string };
type Of<Kind> = Extract<ScriptInput, { kind: Kind }>;

function plainValue(input: Exclude<ScriptInput, { kind: 'file' }>, given: unknown, uploads: readonly unknown[]): Typed {
  if (uploads.length > 0) return { message: 'This input takes no file.' };
  if (given === undefined || given === null || given === '') {
    if (input.default !== undefined && given !== '') return { value: input.default };
    return input.required ? { message: 'This input is required.' } : { value: null };
  }
  if (input.kind === 'number') return numberValue(input, given);
  if (typeof given !== 'string' || !given.isWellFormed()) return { message: 'This input must be a text.' };
  if (input.kind === 'text') return textValue(input, given);
  if (input.kind === 'choice')
    return input.choices.includes(given) ? { value: given } : { message: 'Choose one of the listed values.' };
  return dateValue(input, given);
}

function textValue({ max_length: most = TEXT_LENGTH, pattern }: Of<'text'>, given: string): Typed {
  const text = given.replace(/\r\n?/g, '\n');
  if (text.length > most) return { message: `Use at most ${most.toLocaleString('en-US')} characters.` };
  if (text.includes('\0')) return { message: 'A text cannot contain the character U+0000.' };
  if (pattern !== undefined && !matchesWhole(pattern, text))
    return { message: 'This text does not have the expected form.' };
  return { value: text };
}

function numberValue({ min = -Infinity, max = Infinity, step }: Of<'number'>, given: unknown): Typed {
  const isWritten = typeof given === 'string' && NUMBER.test(given.trim());
  const number = isWritten ? Number(given) : given;
  if (typeof number !== 'number' || !Number.isFinite(number)) return { message: 'This input must be a number.' };
  if (number < min) return { message: `Use a number of at least ${min}.` };
  if (number > max) return { message: `Use a number of at most ${max}.` };
  const steps = step === undefined ? 0 : (number - (Number.isFinite(min) ? min : 0)) / step;
  // Decimal steps are not exact in binary.
  if (Math.abs(steps - Math.round(steps)) > 1e-9 * Math.max(1, Math.abs(steps)))
    return { message: `Use a multiple of ${step}${Number.isFinite(min) && min !== 0 ? `, counted from ${min}` : ''}.` };
  return { value: number };
}

const NUMBER = /^[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?$/;

function dateValue({ earliest = '', latest = '9999-12-31' }: Of<'date'>, given: string): Typed {
  if (!isDay(given)) return { message: 'Use a date such as 2026-01-31.' };
  if (given < earliest) return { message: `Use ${earliest} or a later day.` };
  if (given > latest) return { message: `Use ${latest} or an earlier day.` };
  return { value: given };
}

function fileValue(input: Of<'file'>, uploads: readonly UploadedFile[]): Typed {
  const { name, accept, multiple = false, required = false, max_bytes: most = UPLOAD_BYTES } = input;
  if (uploads.length === 0) {
    if (required) return { message: 'This input is required.' };
    return { value: multiple ? [] : null };
  }
  if (uploads.length > (multiple ? UPLOADS_PER_INPUT_MAX : 1))
    return { message: multiple ? `Upload at most ${UPLOADS_PER_INPUT_MAX} files.` : 'Upload one file.' };
  const bytesMax = writtenBytes(most);
  for (const upload of uploads) {
    if (upload.bytes > bytesMax) return { message: `A file is larger than ${bytesMax.toLocaleString('en-US')} bytes.` };
    if (accept && !accept.includes(extensionOf(upload.name))) return { message: `Upload ${accept.join(', ')} files.` };
  }
  const staged = uploads.map((upload, index) => ({
    name: `${name}${multiple ? `-${index + 1}` : ''}${extensionOf(upload.name)}`,
    source: upload.file,
    value: { label: safeLabel(upload.name), bytes: upload.bytes },
  }));
  const values = staged.map(({ name: file, value }) => ({ path: `input/${file}`, ...value }));
  return {
    value: multiple ? values : (values[0] as UploadValue),
    uploads: staged.map(({ name: file, source }) => ({ name: file, source })),
  };
}
