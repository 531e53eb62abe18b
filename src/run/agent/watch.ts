import { asksForInput } from '../../adapters/prompt.ts';
import { monotonicMs } from '../../base/clock.ts';
import { readJson } from '../../base/json.ts';
import { LineCutter } from '../../base/line-cutter.ts';
import { Masker, type Masking } from '../../base/masker.ts';
import type {
  AgentReader,
  AgentReading,
  EndFacts,
  LineReading,
  ModelSpeech,
  Reason,
  TranscriptLine,
} from '../../contracts/agent-step/reading.ts';
import type { StoppedBy } from '../../contracts/ending.ts';
import type { AgentFiles } from '../../evidence/agent-run.ts';
import { GrowingFile } from '../../evidence/growing-file.ts';
import { AgentClocks, type ClockLimits } from './clocks.ts';
import { lineText } from './line-text.ts';

/** Where what an agent says is kept, and how much of it. */
export interface Keeping {
  readonly transcript: string;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Watching {
  readonly reader: AgentReader;
  readonly keeping: Keeping;
  readonly clocks: ClockLimits;
  /** Masked in the transcript, too: a line may spell in JSON what its bytes do not show. */
  readonly masking: Masking;
  readonly stop: (by: StoppedBy) => void;
  readonly onEvent: ((line: TranscriptLine) => void) | undefined;
}

/** Why we stopped it, where the ending alone does not say. */
export interface StoppedFor {
  readonly reason: Reason;
  readonly detail: string;
  /** What saw it, where that was not the agent's own stream. */
  readonly source?: 'door';
  /** It had said its last line, and something that it started kept running, or it did itself. */
  readonly hadFinished?: true;
}

export interface Seen {
  readonly reading: AgentReading;
  readonly files: Omit<AgentFiles, 'diff'>;
  readonly events: number;
  readonly stoppedFor: StoppedFor | undefined;
}

/**
 * Listens to an agent while it lives: keeps its native stream, makes the transcript of it line by line, sets its clocks,
 * and stops it where it must not go on.
 */
export class AgentWatch {
  readonly #watching: Watching;
  readonly #masker: Masker;
  readonly #clocks: AgentClocks;
  readonly #files: Readonly<Record<keyof Keeping, GrowingFile>>;
  readonly #cutter = new LineCutter(LINE_BYTES_MAX);
  readonly #began = monotonicMs();
  readonly #onLine = (bytes: Buffer | null): void => this.#line(bytes);
  /** When the piece came that is being read. */
  #atMs = 0;
  #nativeLine = 0;
  #seq = 0;
  /** Lines of the transcript that are not written yet. */
  readonly #held = Buffer.allocUnsafe(HELD_BYTES_MAX);
  #heldBytes = 0;
  /** The events of these lines, which are told when it is known what is masked in them. */
  #untold: TranscriptLine[] = [];
  /** The end of what it said on stderr, until it is known to have gone on since; and when that came. */
  #lastError = '';
  #lastErrorMs = 0;
  #stoppedFor: StoppedFor | undefined;
  #asking: NodeJS.Timeout | undefined;

  constructor(watching: Watching) {
    this.#watching = watching;
    this.#masker = new Masker(watching.masking);
    const { transcript, stdout, stderr } = watching.keeping;
    this.#files = {
      transcript: new GrowingFile(transcript, TRANSCRIPT_BYTES_MAX),
      stdout: new GrowingFile(stdout, STDOUT_BYTES_MAX),
      stderr: new GrowingFile(stderr, STDERR_BYTES_MAX),
    };
    this.#clocks = new AgentClocks(watching.clocks, hasFinished => {
      // Who asks and gets no answer does not get on, but that is not why.
      if (this.#asking !== undefined) return this.halt(ASKED);
      if (hasFinished) this.#stoppedFor ??= { reason: 'stalled', detail: LATE, hadFinished: true };
      watching.stop('idle');
    });
  }

  /** A piece of what it says. Its events have been told when this returns. */
  take(stream: 'stdout' | 'stderr', bytes: Buffer): void {
    clearTimeout(this.#asking);
    this.#asking = undefined;
    const nowMs = monotonicMs();
    if (stream === 'stderr') {
      this.#lastErrorMs = nowMs;
      this.#files.stderr.write(bytes);
      this.#lastError = `${this.#lastError}${bytes.subarray(-ASKING_BYTES_MAX).toString()}`.slice(-ASKING_BYTES_MAX);
    } else {
      if (!this.#files.stdout.write(bytes)) this.halt({ reason: 'limit_output', detail: TOO_MUCH });
      this.#atMs = Math.round(nowMs - this.#began);
      this.#cutter.take(bytes, this.#onLine);
      this.#flush();
      // Streams are read one beside the other: what comes at once may have been said before.
      if (nowMs - this.#lastErrorMs > GOING_ON_MS) this.#lastError = '';
    }
    const rest = this.#cutter.rest(ASKING_BYTES_MAX);
    const isAsking = rest !== undefined && rest.first !== OPENING_BRACE && asksForInput(rest.tail.toString());
    if (isAsking || asksForInput(this.#lastError)) {
      // Somebody who only thinks aloud goes on at once; who asks waits for an answer. Where stdout came after a question
      // on stderr, either may be so, and a model takes its time.
      const isDoubtful = !isAsking && stream === 'stdout';
      this.#asking = setTimeout(() => this.halt(ASKED), isDoubtful ? DOUBTFUL_MS : ASKING_MS);
    }
  }

  /** The door heard the model ask the user. */
  asked(): void {
    this.halt({ ...ASKED, source: 'door' });
  }

  /** The model speaks to it: that is progress, however little of it the agent tells. */
  heard(speech: ModelSpeech): void {
    const { sign, reason } = this.#watching.reader.heard(speech);
    this.#obey(sign, reason);
  }

  /** Everything of it is dead. */
  end(facts: EndFacts): Seen {
    this.close();
    this.#cutter.end(this.#onLine);
    this.#flush();
    const { transcript, stdout, stderr } = this.#files;
    return {
      reading: this.#watching.reader.end(facts),
      files: { transcript: transcript.end(), stdout: stdout.end(), stderr: stderr.end() },
      events: this.#seq,
      stoppedFor: this.#stoppedFor,
    };
  }

  /** It must not go on. */
  halt(why: StoppedFor): void {
    this.#stoppedFor ??= why;
    this.#watching.stop('policy');
  }

  /** Nothing more is watched. */
  close(): void {
    clearTimeout(this.#asking);
    this.#clocks.close();
  }

  #line(bytes: Buffer | null): void {
    const { reader } = this.#watching;
    const atMs = this.#atMs;
    this.#nativeLine++;
    const { events, sign, reason } = reader.line(bytes);
    const nativeLine = this.#nativeLine;
    for (const event of events) {
      const seq = ++this.#seq;
      this.#hold(`${lineText({ seq, atMs, nativeLine }, event)}\n`, {
        schema_version: 'transcript-line.v1',
        seq,
        at_ms: atMs,
        native_line: nativeLine,
        ...event,
      });
    }
    this.#obey(sign, reason);
  }

  #obey(sign: LineReading['sign'], reason: LineReading['reason']): void {
    if (sign === 'progress') this.#clocks.progress(this.#watching.reader.inFlight);
    else if (sign === 'terminal') this.#clocks.finished();
    else if (sign === 'kill') this.halt(reason === 'prompt_detected' ? ASKED : haltFor(reason));
  }

  /** Line by line: one letter beyond Latin-1 makes a text of many lines twice as long, and as slow to write. */
  #hold(line: string, event: TranscriptLine): void {
    const bytesMax = line.length * 3;
    if (this.#heldBytes + bytesMax > HELD_BYTES_MAX) this.#flush();
    if (this.#watching.onEvent) this.#untold.push(event);
    if (bytesMax > HELD_BYTES_MAX) this.#write(Buffer.from(line));
    else this.#heldBytes += this.#held.write(line, this.#heldBytes);
  }

  #flush(): void {
    if (this.#heldBytes > 0) this.#write(this.#held.subarray(0, this.#heldBytes));
    this.#heldBytes = 0;
  }

  #write(lines: Buffer): void {
    const before = this.#masker.masked;
    const safe = this.#masker.whole(lines);
    const isWhole = this.#files.transcript.write(safe);
    this.#tell(this.#masker.masked > before ? eventsIn(safe) : this.#untold);
    if (!isWhole) this.halt({ reason: 'limit_output', detail: TOO_MUCH });
  }

  #tell(events: readonly TranscriptLine[]): void {
    const { onEvent } = this.#watching;
    this.#untold = [];
    if (onEvent) for (const event of events) onEvent(event);
  }
}

/** The events of lines that something was masked in. A line that a secret made no JSON of is not told. */
function eventsIn(lines: Buffer): TranscriptLine[] {
  return lines
    .toString()
    .split('\n')
    .flatMap(line => {
      const reading = readJson(Buffer.from(line), { bytesMax: LINE_BYTES_MAX });
      return reading.ok ? [reading.value as TranscriptLine] : [];
    });
}

function haltFor(reason: Reason = 'protocol_error'): StoppedFor {
  return { reason, detail: DETAILS[reason] ?? 'The agent was stopped.' };
}

const DETAILS: Readonly<Partial<Record<Reason, string>>> = {
  denied_tool: 'A tool call was denied, and the policy asks for an end at the first denial.',
  limit_turns: 'The agent had as many turns as it may.',
};

const ASKED: StoppedFor = {
  reason: 'prompt_detected',
  detail: 'The agent asked for input, and nobody is there to answer.',
};

const LATE = 'The agent had said its last line and did not end.';
const TOO_MUCH = 'The agent said more than is kept of it.';

/** A line of an agent holds at most one message; what is longer is no line that anybody could read. */
export const LINE_BYTES_MAX = 16 * 1024 * 1024;
const STDOUT_BYTES_MAX = 256 * 1024 * 1024;
const STDERR_BYTES_MAX = 16 * 1024 * 1024;
const TRANSCRIPT_BYTES_MAX = 256 * 1024 * 1024;
const HELD_BYTES_MAX = 1024 * 1024;
const ASKING_BYTES_MAX = 1_024;
const ASKING_MS = 2_000;
const DOUBTFUL_MS = 15_000;
const GOING_ON_MS = 500;
const OPENING_BRACE = 0x7b;
