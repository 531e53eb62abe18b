import { LOG_BYTES_MAX, type ServedLog } from '../../execute/served/served.ts';

/** The logs of a program that may be started several times, as one text of limited size. */
export class RestartLog {
  #bytes: Buffer = Buffer.alloc(0);
  #starts = 0;

  add({ bytes }: ServedLog): void {
    const room = Math.max(0, LOG_BYTES_MAX - this.#bytes.length);
    if (room === 0) return;
    const next = this.#starts++ === 0 ? bytes : Buffer.concat([AGAIN, bytes]);
    const end = next.length > room ? [next.subarray(0, room), CUT] : [next];
    this.#bytes = Buffer.concat([this.#bytes, ...end]);
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
}

const AGAIN = Buffer.from('[Proctor started the program again]\n');
const CUT = Buffer.from('\n[Proctor cut the rest]\n');
