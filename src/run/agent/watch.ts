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
  ModelOutput,
  Reason,
  TranscriptLine,
} from '../../contracts/agent-step/reading.ts';
import type { StoppedBy } from '../../contracts/ending.ts';
import type { AgentFiles } from '../../evidence/agent/agent-run.ts';
import { GrowingFile } from '../../evidence/run-folder/growing-file.ts';
import { AgentClocks, type ClockLimits } from './clocks.ts';
import { lineText } from './line-text.ts';

/** The files that store the agent's output. */
export interface TranscriptFiles {
  readonly transcript: string;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Watching {
  readonly reader: AgentReader;
  readonly keeping: TranscriptFiles;
  readonly clocks: ClockLimits;
  /** Applied to the transcript as well, because JSON escapes may hide a secret from the stream's masker. */
  readonly masking: Masking;
  readonly stop: (by: StoppedBy) => void;
  readonly onEvent: ((line: TranscriptLine) => void) | undefined;
}

/** Why Proctor stopped the agent, if the ending alone does not show it. */
export interface StoppedFor {
  readonly reason: Reason;
  readonly detail: string;
  /** The agent had written its last line, and it or one of its processes kept running. */
  readonly hadFinished?: true;
  /** What detected it, if not the agent's own stream. */
  readonly source?: 'door';
}

export interface WatchedStream {
  readonly reading: AgentReading;
  readonly files: Omit<AgentFiles, 'diff'>;
  readonly events: number;
  readonly stoppedFor: StoppedFor | undefined;
}

/** Stores the agent's streams, writes the transcript line by line, resets its clocks, and stops it when it must not continue. */
export class AgentWatch {
  readonly #watching: Watching;
  readonly #masker: Masker;
  readonly #clocks: AgentClocks;
  readonly #files: Readonly<Record<keyof TranscriptFiles, GrowingFile>>;
  readonly #cutter = new LineCutter(AGENT_LINE_BYTES_MAX);
  readonly #began = monotonicMs();
  readonly #onLine = (bytes: Buffer | null): void => this.#line(bytes);
  /** When the current chunk arrived. */
  #atMs = 0;
  #nativeLine = 0;
  #seq = 0;
  /** Transcript lines that are not written yet. */
  readonly #held = Buffer.allocUnsafe(HELD_BYTES_MAX);
  #heldBytes = 0;
  /** Events of these lines. They are reported once masking is done. */
  #untold: TranscriptLine[] = [];
  /** The last text on stderr and its time, until later output shows that the agent continued. */
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
      // If the agent is waiting for an answer, the question is the reason, not the lack of progress.
      if (this.#asking !== undefined) return this.halt(ASKED);
      if (hasFinished) this.#stoppedFor ??= { reason: 'stalled', detail: LATE, hadFinished: true };
      watching.stop('idle');
    });
  }

  /** Processes a chunk of output, and reports its events before it returns. */
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
      // The streams are read concurrently, so this chunk may be older than the last one of the other stream.
      if (nowMs - this.#lastErrorMs > GOING_ON_MS) this.#lastError = '';
    }
    const rest = this.#cutter.rest(ASKING_BYTES_MAX);
    const isAsking = rest !== undefined && rest.first !== OPENING_BRACE && asksForInput(rest.tail.toString());
    if (isAsking || asksForInput(this.#lastError)) {
      // An agent that thinks aloud continues at once; one that asks waits for an answer. If stdout follows a question on
      // stderr, either is possible, so the agent gets more time.
      const isDoubtful = !isAsking && stream === 'stdout';
      this.#asking = setTimeout(() => this.halt(ASKED), isDoubtful ? DOUBTFUL_MS : ASKING_MS);
    }
  }

  /** Called when the model sends bytes. That is progress, even if the agent prints nothing. */
  heard(speech: ModelOutput): void {
    const { sign, reason } = this.#watching.reader.heard(speech);
    this.#obey(sign, reason);
  }

  /** Called when the proxy sees the model ask the user a question. */
  asked(): void {
    this.halt({ ...ASKED, source: 'door' });
  }

  /** Called when all the agent's processes have ended. */
  end(facts: EndFacts): WatchedStream {
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

  /** Stops the agent. */
  halt(why: StoppedFor): void {
    this.#stoppedFor ??= why;
    this.#watching.stop('policy');
  }

  /** Stops watching. */
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

  /** Line by line, because one character beyond Latin-1 doubles the size of the whole string. */
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

/** The events of masked lines. Skips lines that masking turned into invalid JSON. */
function eventsIn(lines: Buffer): TranscriptLine[] {
  return lines
    .toString()
    .split('\n')
    .flatMap(line => {
      const reading = readJson(Buffer.from(line), { bytesMax: AGENT_LINE_BYTES_MAX });
      return reading.ok ? [reading.value as TranscriptLine] : [];
    });
}

function haltFor(reason: Reason = 'protocol_error'): StoppedFor {
  return { reason, detail: DETAILS[reason] ?? 'The agent was stopped.' };
}

const DETAILS: Readonly<Partial<Record<Reason, string>>> = {
  denied_tool: 'A tool call was denied, and the policy stops the agent at the first denial.',
  limit_turns: 'The agent reached its turn limit.',
};

const ASKED: StoppedFor = {
  reason: 'prompt_detected',
  detail: 'The agent asked for input, and no user can answer.',
};

const LATE = 'The agent wrote its last line and did not exit.';
const TOO_MUCH = 'The agent exceeded its output limit.';

/** The size limit for one line of agent output, which contains at most one message. */
export const AGENT_LINE_BYTES_MAX = 16 * 1024 * 1024;
const STDOUT_BYTES_MAX = 256 * 1024 * 1024;
const STDERR_BYTES_MAX = 16 * 1024 * 1024;
const TRANSCRIPT_BYTES_MAX = 256 * 1024 * 1024;
const HELD_BYTES_MAX = 1024 * 1024;
const ASKING_BYTES_MAX = 1_024;
const ASKING_MS = 2_000;
const DOUBTFUL_MS = 15_000;
const GOING_ON_MS = 500;
const OPENING_BRACE = 0x7b;
