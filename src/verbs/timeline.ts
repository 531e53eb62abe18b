import type { TranscriptLine } from '../contracts/agent-step/reading.ts';

/** A timeline entry. */
export interface Moment {
  /** The line in the transcript. */
  readonly seq: number;
  readonly atMs: number;
  readonly what: 'call' | 'change' | 'denial' | 'retry' | 'trouble' | 'pause' | 'final';
  readonly tool: string;
  /** The arguments or message. Not yet escaped for a terminal. */
  readonly about: string;
  /** Null while unknown. A denied call that also failed is `denied`. */
  readonly state: 'ok' | 'failed' | 'denied' | null;
  readonly tookMs: number | null;
  readonly exitCode: number | null;
}

export interface Timeline {
  /** The first and last moments. */
  readonly moments: readonly Moment[];
  /** The number of moments left out, and the number shown before them. */
  readonly omitted: { readonly after: number; readonly count: number };
  readonly calls: { readonly total: number; readonly failed: number; readonly denied: number };
  /** Denied calls, grouped by tool and reason. */
  readonly denials: readonly {
    readonly seq: number;
    readonly tool: string;
    readonly reason: string;
    readonly count: number;
  }[];
}

/** The timeline of a transcript, in memory that does not grow with the transcript. */
export function timelineOf(lines: Iterable<TranscriptLine>): Timeline {
  const fold = new Fold();
  for (const line of lines) fold.take(line);
  return fold.end();
}

type Growing = { -readonly [Key in keyof Moment]: Moment[Key] };

class Fold {
  readonly #first: Growing[] = [];
  readonly #last: Growing[] = [];
  readonly #open = new Map<string, Growing>();
  readonly #denials = new Map<string, { seq: number; tool: string; reason: string; count: number }>();
  readonly #calls = { total: 0, failed: 0, denied: 0 };
  #count = 0;
  #lastAtMs = 0;
  #inFlight = 0;
  #newest: Growing | undefined;
  #changed = '';

  take(line: TranscriptLine): void {
    const { seq, at_ms: atMs } = line;
    const silentMs = atMs - this.#lastAtMs;
    // While a tool runs, its duration already shows the silence.
    if (silentMs > PAUSE_MS && this.#inFlight === 0)
      this.#add({ seq, atMs: this.#lastAtMs, what: 'pause', tookMs: silentMs });
    this.#lastAtMs = atMs;
    if (line.kind === 'tool_call') this.#called(line);
    else if (line.kind === 'tool_result') this.#answered(line);
    else if (line.kind === 'denial') this.#denied(line);
    else if (line.kind === 'file_change' && line.path !== this.#changed)
      this.#add({ seq, atMs, what: 'change', tool: line.change, about: line.path, state: 'ok' });
    else if (line.kind === 'retry') this.#retried(line);
    else if (line.kind === 'note' && line.level !== 'info')
      this.#add({ seq, atMs, what: 'trouble', tool: line.level, about: line.text });
    else if (line.kind === 'final') this.#add({ seq, atMs, what: 'final', state: line.ok ? 'ok' : 'failed' });
  }

  end(): Timeline {
    const moments = [...this.#first, ...this.#last];
    return {
      moments,
      omitted: { after: this.#first.length, count: this.#count - moments.length },
      calls: this.#calls,
      denials: [...this.#denials.values()],
    };
  }

  #add(given: Pick<Moment, 'seq' | 'atMs' | 'what'> & Partial<Moment>): Growing {
    const moment: Growing = { tool: '', about: '', state: null, tookMs: null, exitCode: null, ...given };
    this.#count++;
    this.#newest = moment;
    if (this.#first.length < MOMENTS_MAX / 2) this.#first.push(moment);
    else if (this.#last.push(moment) > MOMENTS_MAX / 2) this.#last.shift();
    return moment;
  }

  #called(line: TranscriptLine & { kind: 'tool_call' }): void {
    const { seq, at_ms: atMs, tool, call } = line;
    const about = line.command?.text ?? line.path ?? (line.input.text === '{}' ? '' : line.input.text);
    const moment = this.#add({ seq, atMs, what: 'call', tool, about: about.slice(0, ABOUT_UNITS_MAX) });
    this.#calls.total++;
    this.#inFlight++;
    this.#open.set(call, moment);
    // Some calls may never get a result.
    if (this.#open.size > OPEN_MAX) this.#open.delete(this.#open.keys().next().value as string);
  }

  #answered(line: TranscriptLine & { kind: 'tool_result' }): void {
    const moment = this.#open.get(line.call);
    if (!moment || moment.tookMs !== null) return;
    this.#inFlight--;
    moment.tookMs = line.at_ms - moment.atMs;
    moment.exitCode = line.exit_code;
    // The call already shows the file, so the change needs no moment.
    this.#changed = moment.about;
    if (moment.state === null) moment.state = line.ok ? 'ok' : 'failed';
    if (moment.state === 'failed') this.#calls.failed++;
  }

  #denied({ seq, at_ms: atMs, call, tool, reason }: TranscriptLine & { kind: 'denial' }): void {
    this.#calls.denied++;
    const alike = this.#denials.get(`${tool} ${reason}`);
    if (alike) alike.count++;
    else if (this.#denials.size < DENIALS_MAX) this.#denials.set(`${tool} ${reason}`, { seq, tool, reason, count: 1 });
    const moment = call === null ? undefined : this.#open.get(call);
    if (!moment) {
      this.#add({ seq, atMs, what: 'denial', tool, about: reason.slice(0, ABOUT_UNITS_MAX), state: 'denied' });
      return;
    }
    if (moment.state === 'failed') this.#calls.failed--;
    moment.state = 'denied';
  }

  /** Merges consecutive retries into one moment. */
  #retried(line: TranscriptLine & { kind: 'retry' }): void {
    const { seq, at_ms: atMs, message, status } = line;
    const about = status === null ? message : `${status}: ${message}`;
    const before = this.#newest;
    if (before?.what !== 'retry') this.#add({ seq, atMs, what: 'retry', tool: 'retry', about, tookMs: 0 });
    else Object.assign(before, { about, tookMs: atMs - before.atMs });
  }
}

const MOMENTS_MAX = 40;
const DENIALS_MAX = 20;
const OPEN_MAX = 10_000;
const ABOUT_UNITS_MAX = 1_000;
/** Models are often silent this long; a longer pause is worth showing. */
const PAUSE_MS = 20_000;
