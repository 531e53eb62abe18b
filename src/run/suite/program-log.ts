import type { Capture, KeptStream } from '../../contracts/capture.ts';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import { LOG_BYTES_MAX } from '../../execute/served/served.ts';

/** What a program printed besides its replies, for the whole run, as one masked text of limited size. */
export class ProgramLog {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #isFull = false;

  /** `log` has the streams of one attempt; empty ones are left out. */
  add(caseId: string, attempt: number, log: Buffer): void {
    if (log.length === 0 || this.#isFull) return;
    const piece = Buffer.concat([Buffer.from(`[case ${caseId}, attempt ${attempt}]\n`), log]);
    const room = LOG_BYTES_MAX - this.#bytes;
    this.#isFull = piece.length > room;
    this.#pieces.push(this.#isFull ? Buffer.concat([piece.subarray(0, room), FULL]) : piece);
    this.#bytes += piece.length;
  }

  assets(): readonly Asset[] {
    if (this.#pieces.length === 0) return [];
    return [{ href: 'assets/target.log', kind: 'other', caseId: null, bytes: Buffer.concat(this.#pieces) }];
  }
}

const FULL = Buffer.from('\n[Proctor cut the rest]\n');

/** Standard error, and standard output unless it is the reply. */
export function printedBy({ stdout, stderr }: Capture, isReplyPrinted: boolean): Buffer {
  return Buffer.concat([...(isReplyPrinted ? [] : streamText(stdout)), ...streamText(stderr)]);
}

function streamText({ head, tail, bytesTotal }: KeptStream): Uint8Array[] {
  if (bytesTotal === 0) return [];
  const cut = bytesTotal - head.length - tail.length;
  const last = (tail.length > 0 ? tail : head).at(-1);
  return [
    head,
    ...(cut > 0 ? [Buffer.from(`\n[Proctor cut ${cut} bytes]\n`)] : []),
    tail,
    ...(last === LINE_FEED ? [] : [Buffer.from('\n')]),
  ];
}

const LINE_FEED = 10;
