import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Fault, fullDisk } from '../../base/fault.ts';
import { OWN_FILE } from '../../base/private.ts';
import { makeUploadFolder } from './uploads.ts';

/** A form that a browser or a program sent. Its files are in `folder` until `drop`. */
export interface ReceivedForm {
  readonly texts: readonly (readonly [name: string, text: string])[];
  readonly files: readonly ReceivedFile[];
  drop(): void;
}

interface ReceivedFile {
  readonly field: string;
  /** The name that the client gave it. It may be anything. */
  readonly name: string;
  readonly bytes: number;
  /** Where the server stored it. */
  readonly file: string;
}

/** Receives multipart/form-data (RFC 7578) as a stream, so that a large file never fills the memory. */
export async function receiveForm(request: Request, home: string, bytesMax: number): Promise<ReceivedForm> {
  const type = request.headers.get('content-type') ?? '';
  const [, quoted, plain] = /^multipart\/form-data\s*;.*?boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed('Send the form as multipart/form-data with a boundary');
  const tooLarge = new Fault('body_too_large', `The form is larger than ${bytesMax} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge;
  const folder = makeUploadFolder(home);
  const parts = new FormParts(boundary, folder);
  const drop = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    let bytes = 0;
    let refusal: { readonly error: unknown; readonly atBytes: number } | undefined;
    for await (const piece of (request.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += piece.length;
      if (bytes > bytesMax) throw tooLarge;
      // A client that is still sending reads no answer, so the rest is read too, within a limit.
      if (refusal && bytes - refusal.atBytes > UNUSED_BYTES_MAX) throw refusal.error;
      if (refusal) continue;
      try {
        parts.take(Buffer.from(piece));
      } catch (error) {
        refusal = { error, atBytes: bytes };
        parts.abandon();
        drop();
      }
    }
    if (refusal) throw refusal.error;
    return { ...parts.end(), drop };
  } catch (error) {
    parts.abandon();
    drop();
    throw error;
  }
}

const UNUSED_BYTES_MAX = 64 * 1024 ** 2;

const PARTS_MAX = 2_000;
const HEAD_BYTES_MAX = 8 * 1024;
const TEXT_BYTES_MAX = 512 * 1024;

interface OpenPart {
  readonly field: string;
  /** Undefined for a text. */
  readonly file: { readonly name: string; readonly place: string; readonly fd: number } | undefined;
  readonly text: Buffer[];
  bytes: number;
}

/** Cuts a body at its boundaries. Holds back only as many bytes as a boundary has. */
class FormParts {
  readonly #mark: Buffer;
  readonly #folder: string;
  readonly #texts: [string, string][] = [];
  readonly #files: ReceivedFile[] = [];
  #held: Buffer;
  #state: 'preamble' | 'head' | 'body' | 'end' = 'preamble';
  #part: OpenPart | undefined;

  constructor(boundary: string, folder: string) {
    this.#mark = Buffer.from(`\r\n--${boundary}`);
    this.#folder = folder;
    // The first boundary has no line before it.
    this.#held = Buffer.from('\r\n');
  }

  take(piece: Buffer): void {
    this.#held = Buffer.concat([this.#held, piece]);
    while (this.#step());
  }

  end(): Pick<ReceivedForm, 'texts' | 'files'> {
    if (this.#state !== 'end') throw malformed('The form ends too early');
    return { texts: this.#texts, files: this.#files };
  }

  abandon(): void {
    if (this.#part?.file) closeSync(this.#part.file.fd);
    this.#part = undefined;
  }

  /** Handles as much as is there. False if it needs more bytes. */
  #step(): boolean {
    if (this.#state === 'end') {
      this.#held = Buffer.alloc(0);
      return false;
    }
    return this.#state === 'head' ? this.#readHead() : this.#readBody();
  }

  #readBody(): boolean {
    const at = this.#held.indexOf(this.#mark);
    const keep = this.#mark.length - 1;
    if (at < 0) {
      const safe = Math.max(0, this.#held.length - keep);
      this.#store(this.#held.subarray(0, safe));
      this.#held = this.#held.subarray(safe);
      return false;
    }
    const after = at + this.#mark.length;
    if (this.#held.length < after + 2) return false;
    this.#store(this.#held.subarray(0, at));
    this.#close();
    const next = this.#held.toString('latin1', after, after + 2);
    if (next !== '--' && next !== '\r\n') throw malformed('A boundary of the form is damaged');
    this.#state = next === '--' ? 'end' : 'head';
    this.#held = this.#held.subarray(after + 2);
    return true;
  }

  #readHead(): boolean {
    const end = this.#held.indexOf('\r\n\r\n');
    if (end > HEAD_BYTES_MAX || (end < 0 && this.#held.length > HEAD_BYTES_MAX))
      throw malformed('A part of the form has too many headers');
    if (end < 0) return false;
    this.#part = this.#open(this.#held.toString('utf8', 0, end));
    this.#held = this.#held.subarray(end + 4);
    this.#state = 'body';
    return true;
  }

  #open(head: string): OpenPart {
    if (this.#texts.length + this.#files.length >= PARTS_MAX) throw malformed('The form has too many parts');
    const disposition = head.split('\r\n').find(line => /^content-disposition:/i.test(line)) ?? '';
    const field = parameterIn(disposition, 'name');
    if (field === undefined) throw malformed('A part of the form has no name');
    const name = parameterIn(disposition, 'filename');
    if (name === undefined) return { field, file: undefined, text: [], bytes: 0 };
    const place = path.join(this.#folder, String(this.#files.length));
    return { field, file: { name, place, fd: openSync(place, 'wx', OWN_FILE) }, text: [], bytes: 0 };
  }

  #store(bytes: Buffer): void {
    const part = this.#part;
    if (!part || bytes.length === 0) return;
    part.bytes += bytes.length;
    if (!part.file) {
      if (part.bytes > TEXT_BYTES_MAX) throw new Fault('body_too_large', 'A text of the form is larger than 512 KiB.');
      part.text.push(Buffer.from(bytes));
      return;
    }
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(part.file.fd, bytes, at);
    } catch (cause) {
      throw new Fault('upload_failed', `An uploaded file could not be stored${fullDisk(cause)}.`, { cause });
    }
  }

  #close(): void {
    const part = this.#part;
    this.#part = undefined;
    if (!part) return;
    if (!part.file) {
      this.#texts.push([part.field, Buffer.concat(part.text).toString()]);
      return;
    }
    closeSync(part.file.fd);
    // A file input that was left empty sends a part without a name and without bytes.
    if (part.file.name === '' && part.bytes === 0) rmSync(part.file.place, { force: true });
    else this.#files.push({ field: part.field, name: part.file.name, bytes: part.bytes, file: part.file.place });
  }
}

/** Browsers escape quotes and line feeds in names with percent signs, and nothing else. */
function parameterIn(disposition: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^\\s;"]+))`, 'i').exec(disposition) ?? [];
  return (quoted ?? plain)?.replace(/%22/g, '"').replace(/%0D/gi, '\r').replace(/%0A/gi, '\n');
}

function malformed(sentence: string): Fault {
  return new Fault('invalid_input', `${sentence}.`);
}
