import { clip } from '../base/clip.ts';
import { LineCutter } from '../base/line-cutter.ts';
import { isPrintable } from '../base/printable.ts';
import { unsafeParts } from '../contracts/script-result/summary.ts';

/** How far a script says that it is. */
export interface Progress {
  readonly percent: number;
  /** Safe to show to end users, or null. */
  readonly text: string | null;
}

/** Finds lines such as `PROGRESS 40% reading orders` in what a script prints. */
export class ProgressReader {
  readonly #cutter = new LineCutter(LINE_BYTES_MAX);
  #last: Progress | null = null;

  /** The last progress; null if the script has printed none. */
  get last(): Progress | null {
    return this.#last;
  }

  take(bytes: Uint8Array): void {
    this.#cutter.take(Buffer.from(bytes), line => {
      const [, percent, text = ''] = PROGRESS.exec(line?.toString() ?? '') ?? [];
      if (percent === undefined || Number(percent) > 100) return;
      this.#last = { percent: Number(percent), text: shown(text) };
    });
  }
}

const LINE_BYTES_MAX = 1_000;
const TEXT_BYTES_MAX = 200;
const PROGRESS = /^PROGRESS (\d{1,3})%(?: (.+?))?\r?$/;

/** Like an error summary, the text must not contain a path or a secret. */
function shown(text: string): string | null {
  const short = clip(text.trim(), TEXT_BYTES_MAX).text;
  return short === '' || !isPrintable(short) || unsafeParts(short).length > 0 ? null : short;
}
