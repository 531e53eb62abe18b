import { closeSync, existsSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { Fault, fullDisk } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { modesIn } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import {
  type Exchange,
  RECORDING_BYTES_MAX,
  type RecordedRequest,
  type RecordedResponse,
  type Recording,
} from '../../contracts/recording/index.ts';
import { isObject } from '../../contracts/kind.ts';

export type RecordingHeader = Omit<Header, 'api'>;

type Header = Omit<Recording, 'schema_version' | 'ended' | 'masked' | 'exchanges'>;

/** A line of the partial file. Header first, end last; requests and responses may overlap. */
type PartLine =
  | ({ readonly line: 'header' } & Header)
  | { readonly line: 'request'; readonly seq: number; readonly request: RecordedRequest; readonly masked: number }
  | {
      readonly line: 'response';
      readonly seq: number;
      readonly response: RecordedResponse | null;
      readonly masked: number;
    }
  | { readonly line: 'end'; readonly ended: 'whole' | 'cut' };

/** A summary of the recording. Without an exchange there is no file. */
export interface Recorded {
  readonly exchanges: number;
  readonly masked: number;
  readonly ended: Recording['ended'];
}

/**
 * Writes a recording: one line per request and response to `<file>.part`, so that a crash loses no answer, and the
 * whole document at the end. All input is already masked.
 */
export class Recorder {
  readonly #file: string;
  readonly #fd: number;
  #room: number;
  #seq = 0;
  #failure: Fault | undefined;
  #isCut = false;

  constructor(file: string, header: Header, bytesMax: number) {
    this.#file = file;
    if (!existsSync(path.dirname(file)))
      throw new Fault('usage', `The folder for the recording ${path.basename(file)} does not exist.`);
    if (existsSync(file))
      throw new Fault(
        'usage',
        `${path.basename(file)} already exists. Proctor does not overwrite a file with a recording.`,
      );
    if (existsSync(partOf(file)))
      throw new Fault(
        'usage',
        `${path.basename(partOf(file))} already exists. Another run is writing it, or died while writing it.`,
      );
    this.#room = bytesMax - END_BYTES;
    this.#fd = written(() => openSync(partOf(file), 'wx', 0o600));
    this.#append({ line: 'header', ...header });
  }

  /** The remaining bytes. A longer answer cannot be recorded. */
  get room(): number {
    return this.#isCut || this.#failure ? 0 : this.#room;
  }

  /** Returns the number of the exchange. */
  request(request: RecordedRequest, masked: number): number {
    this.#seq++;
    this.#append({ line: 'request', seq: this.#seq, request, masked });
    return this.#seq;
  }

  response(seq: number, response: RecordedResponse | null, masked: number): void {
    this.#append({ line: 'response', seq, response, masked });
  }

  /** Stops recording, because the limit is reached. */
  cut(): void {
    this.#isCut = true;
  }

  finish(): Recorded {
    if (this.#failure) {
      closeSync(this.#fd);
      throw this.#failure;
    }
    this.#isCut ||= this.#seq > EXCHANGES_MAX;
    written(() => {
      writeWhole(this.#fd, `${JSON.stringify({ line: 'end', ended: this.#isCut ? 'cut' : 'whole' })}\n`);
      fdatasyncSync(this.#fd);
      closeSync(this.#fd);
    });
    const recording = readPart(this.#file);
    if (!recording) throw new Fault('recording_failed', 'The recording could not be written.');
    // An empty recording cannot be replayed, so no file is written.
    if (recording.exchanges.length > 0)
      writeAtomic(this.#file, canonicalize(recording), modesIn(path.dirname(this.#file)).file);
    rmSync(partOf(this.#file), { force: true });
    const { exchanges, masked, ended } = recording;
    return { exchanges: exchanges.length, masked, ended };
  }

  #append(line: PartLine): void {
    if (this.#failure || this.#isCut) return;
    const text = `${JSON.stringify(line)}\n`;
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#room || this.#seq > EXCHANGES_MAX) {
      this.cut();
      return;
    }
    this.#room -= bytes;
    try {
      written(() => writeWhole(this.#fd, text));
    } catch (error) {
      // `finish` throws this. The agent continues.
      this.#failure = error as Fault;
    }
  }
}

const EXCHANGES_MAX = 10_000;

/** Space for the last line and for the parts of the document that are not lines. */
const END_BYTES = 4_096;

/** What a recorder has written so far, even if it died. */
export function readPart(file: string): Recording | undefined {
  const bytes = readRegular(partOf(file), RECORDING_BYTES_MAX);
  return bytes && recordingOf(bytes);
}

function partOf(file: string): string {
  return `${file}.part`;
}

/** Builds a recording from complete lines; undefined without a header. */
function recordingOf(bytes: Buffer): Recording | undefined {
  let header: Header | undefined;
  let ended: Recording['ended'] = 'interrupted';
  let masked = 0;
  const requests = new Map<number, RecordedRequest>();
  const answered = new Map<number, RecordedResponse | null>();
  for (const line of linesIn(bytes)) {
    if (line.line === 'header') {
      const { line: _, ...rest } = line;
      header ??= rest;
    } else if (line.line === 'end') ended = line.ended;
    else {
      masked += line.masked;
      if (line.line === 'request') requests.set(line.seq, line.request);
      else answered.set(line.seq, line.response);
    }
  }
  if (!header) return undefined;
  const exchanges: Exchange[] = [];
  for (const [seq, request] of requests) {
    const response = answered.get(seq);
    // Requests without an answer cannot be replayed.
    if (response !== undefined) exchanges.push({ seq: exchanges.length + 1, request, response });
  }
  return { schema_version: 'recording.v1', ...header, ended, masked, exchanges };
}

function* linesIn(bytes: Buffer): Generator<PartLine> {
  for (let from = 0; from < bytes.length; ) {
    const feed = bytes.indexOf(0x0a, from);
    if (feed < 0) return;
    const line = bytes.subarray(from, feed);
    const reading = readJson(line, { bytesMax: RECORDING_BYTES_MAX });
    if (!reading.ok || !isObject(reading.value)) return;
    yield reading.value as unknown as PartLine;
    from = feed + 1;
  }
}

/** On an almost full disk, a write may store only part of the bytes. */
function writeWhole(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; ) from += writeSync(fd, bytes, from);
}

function written<Value>(act: () => Value): Value {
  try {
    return act();
  } catch (cause) {
    throw new Fault('recording_failed', `The recording could not be written${fullDisk(cause)}.`, { cause });
  }
}
