import { clip } from '../base/clip.ts';
import type { ClippedText, TranscriptLine } from '../contracts/agent-step/reading.ts';
import { transcriptLine } from '../contracts/agent-step/transcript-line.ts';
import { LIVE_BYTES_MAX } from '../contracts/capture.ts';
import type { RunEvent } from '../contracts/run-events.ts';
import { AGENT_FILES } from '../evidence/agent/agent-documents.ts';
import { soundDocument } from '../evidence/document.ts';
import { PARTS } from '../evidence/recovery/recovery-parts.ts';
import { atCharacter, atLine, type TextPiece, TextTail } from '../evidence/run-folder/text-tail.ts';

/** An event of a stream, without its id, and the offset after it. */
export interface StreamEvent {
  readonly event: WithoutId<'output'> | WithoutId<'transcript'>;
  readonly end: number;
}

type WithoutId<Kind extends RunEvent['kind']> = Omit<Extract<RunEvent, { kind: Kind }>, 'id'>;

type StreamName = 'stdout' | 'stderr' | 'transcript';

/** A growing text of a run: what a program prints, or the transcript of an agent. */
export class RunStream {
  readonly #name: StreamName;
  readonly #tail: TextTail;
  #isCut = false;

  private constructor(name: StreamName, tail: TextTail) {
    this.#name = name;
    this.#tail = tail;
  }

  /** The streams of a run of that kind, and the folder that contains them while it runs. */
  static of(kind: string, folder: string): { readonly streams: readonly RunStream[]; readonly within: string } {
    const sealed = (name: string): string => `evidence/steps/${kind}/${name}.txt`;
    if (kind === 'script' || kind === 'intent') {
      const out = new TextTail(folder, [PARTS.stdout, PARTS.stdoutMore], sealed('stdout'));
      const err = new TextTail(folder, [PARTS.stderr, PARTS.stderrMore], sealed('stderr'));
      return { streams: [new RunStream('stdout', out), new RunStream('stderr', err)], within: 'evidence/internal' };
    }
    if (kind !== 'agent') return { streams: [], within: '' };
    const transcript = new RunStream('transcript', new TextTail(folder, [AGENT_FILES.transcript]));
    return { streams: [transcript], within: 'evidence/steps/agent' };
  }

  get end(): number {
    return this.#tail.end;
  }

  /** Whether only the sealed evidence can contain its text, if the program has ended. */
  get needsSealed(): boolean {
    return this.#tail.needsSealed;
  }

  /** Returns the next events; undefined if there is nothing new. `isOver`: the run is sealed. */
  next(isOver: boolean): readonly StreamEvent[] | undefined {
    if (isOver) this.#tail.openSealed();
    const { cut, bytesMax } = this.#pieces();
    const piece = this.#tail.read(cut, bytesMax, isOver);
    return piece && this.#eventsOf(piece);
  }

  /** The event that says that no more output will be shown, once. */
  cutEvent(): Extract<RunEvent, { kind: 'cut' }> | undefined {
    if (this.#isCut || this.#name === 'transcript' || !this.#tail.isFull(LIVE_BYTES_MAX)) return undefined;
    this.#isCut = true;
    return { kind: 'cut', id: null, data: { stream: this.#name, at: this.#tail.end } };
  }

  /** Reads events again, from one offset up to another. */
  *again(from: number, to: number): Generator<StreamEvent> {
    const { cut, bytesMax } = this.#pieces();
    for (const piece of this.#tail.again(cut, from, to, bytesMax)) yield* this.#eventsOf(piece);
  }

  close(): void {
    this.#tail.close();
  }

  #pieces() {
    return this.#name === 'transcript'
      ? { cut: atLine, bytesMax: transcriptLine.bytesMax }
      : { cut: atCharacter, bytesMax: OUTPUT_BYTES };
  }

  #eventsOf({ from, end, bytes }: TextPiece): StreamEvent[] {
    if (this.#name === 'transcript') return [...transcriptEvents(from, bytes)];
    const data = { stream: this.#name, from, text: bytes.toString() };
    return [{ event: { kind: 'output', data }, end }];
  }
}

/** Skips lines that are not valid, such as a line that masking broke. */
function* transcriptEvents(start: number, bytes: Buffer): Generator<StreamEvent> {
  let from = 0;
  for (let feed = bytes.indexOf(0x0a); feed >= 0; feed = bytes.indexOf(0x0a, from)) {
    const line = soundDocument(bytes.subarray(from, feed), transcriptLine) as TranscriptLine | undefined;
    if (line)
      yield {
        event: { kind: 'transcript', data: { from: start + from, entry: shortened(line) } },
        end: start + feed + 1,
      };
    from = feed + 1;
  }
}

/** A transcript line with every text cut to 4 KiB. The sealed transcript has the rest. */
function shortened(line: TranscriptLine): TranscriptLine {
  const cut = Object.entries(line).map(([key, value]: [string, unknown]) => [key, shortValue(value)]);
  return Object.fromEntries(cut) as TranscriptLine;
}

function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return clip(value, TEXT_BYTES).text;
  const { text, bytes_total } = (value ?? {}) as Partial<ClippedText>;
  if (typeof text !== 'string') return value;
  const clipped = clip(text, TEXT_BYTES);
  return clipped.truncated ? { text: clipped.text, bytes_total: bytes_total ?? clipped.bytesTotal } : value;
}

const OUTPUT_BYTES = 16 * 1024;
const TEXT_BYTES = 4 * 1024;
