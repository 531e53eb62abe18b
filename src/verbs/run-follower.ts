import { existsSync } from 'node:fs';
import path from 'node:path';
import { monotonicMs } from '../base/clock.ts';
import { LAST_EVENTS, type RunEvent } from '../contracts/run-events.ts';
import { JOURNAL } from '../evidence/run-folder/journal.ts';
import { JournalTail, type TailLine } from '../evidence/run-folder/journal-tail.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { isSealed } from '../evidence/recovery/recover.ts';
import { SUITE_LINE_BYTES_MAX } from '../evidence/suite/suite-resume.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import { earlyVerdict } from '../judge/suite/early-verdict.ts';
import { CaseFinder } from './case-finder.ts';
import { FileWatches } from './file-watches.ts';
import { isOwnerAlive } from './recover.ts';
import { type EarlyVerdict, type KnownLine, lineEvent } from './run-event.ts';
import { cursorText, isAtOrAfter, type RunCursor } from './run-cursor.ts';
import { RunStream } from './run-stream.ts';
import { RunTexts } from './run-texts.ts';

/**
 * Follows a run through its journal and the files beside it, and reports each event once. Several viewers share one
 * follower: `again` reads earlier events for those who come later.
 */
export class RunFollower {
  readonly #place: RunFolder;
  readonly #onEvents: (events: readonly RunEvent[]) => void;
  readonly #verdictOf: EarlyVerdict = artifact => this.#verdict(artifact);
  readonly #watches = new FileWatches(() => this.#wake());
  #tail: JournalTail | undefined;
  #texts = new RunTexts([]);
  #cases: CaseFinder | undefined;
  /** Lines that are read and not reported yet. */
  #waiting: TailLine[] = [];
  #line = 0;
  #owner: SuitePlan['owner'] | undefined;
  #state: RunState = 'following';
  #isCaughtUp = false;
  /** The program has ended, and everything that it printed has been reported. */
  #isTextOver = false;
  /** How often the run started over. */
  #round = 0;
  #within: string | undefined;
  #missingSinceMs: number | undefined;
  #openedAtMs = 0;
  #lookedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #next: NodeJS.Immediate | undefined;
  #isClosed = false;

  /** `onEvents` is called without events when the follower has caught up. */
  constructor(place: RunFolder, onEvents: (events: readonly RunEvent[]) => void) {
    this.#place = place;
    this.#onEvents = onEvents;
    this.#next = setImmediate(() => this.#look());
  }

  /** What has been reported so far. */
  get cursor(): RunCursor {
    return { line: this.#line, offsets: this.#texts.offsets };
  }

  get state(): RunState {
    return this.#state;
  }

  /** Increases when the journal was replaced by another one. Earlier positions then mean nothing. */
  get round(): number {
    return this.#round;
  }

  /** Whether everything that existed when the follower last looked has been reported. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  /**
   * Whether the run has started over since a viewer was at `seen`, if `at` is reported. After the program has ended, only
   * lines count: sealing removes text beyond the limit of the evidence.
   */
  hasStartedOver(seen: RunCursor, at: RunCursor): boolean {
    return this.#isTextOver ? at.line < seen.line : !isAtOrAfter(at, seen);
  }

  /** Reads reported events again, from one position up to another. Text comes before the end of its program. */
  *again(from: RunCursor, to: RunCursor): Generator<RunEvent> {
    const offsets = this.#texts.offsets.map((_, index) => from.offsets[index] ?? 0);
    let line = from.line;
    let isTextDone = false;
    for (const next of this.#tail?.again(from.line, to.line) ?? []) {
      if (!isTextDone && isEndOfText(next)) {
        isTextDone = true;
        yield* this.#texts.again(line, offsets, to);
      }
      line = next.number;
      yield lineEvent(next, cursorText({ line, offsets }), this.#verdictOf);
    }
    if (!isTextDone) yield* this.#texts.again(line, offsets, to);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#next);
    this.#watches.close();
    this.#forget();
  }

  #forget(): void {
    this.#tail?.close();
    this.#cases?.close();
    this.#texts.close();
    this.#tail = undefined;
    this.#cases = undefined;
    this.#texts = new RunTexts([]);
    this.#waiting = [];
    this.#line = 0;
    this.#isTextOver = false;
    this.#owner = undefined;
  }

  /** Reports what is new, then decides when to look again. */
  #look(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#next = undefined;
    this.#lookedAtMs = monotonicMs();
    const hasMore = this.#tail || this.#open() ? this.#advance() : false;
    if (this.#isClosed || LAST_EVENTS.has(this.#state as RunEvent['kind'])) return;
    if (hasMore) this.#next = setImmediate(() => this.#look());
    else {
      if (!this.#isCaughtUp && !this.#isTextMissing) {
        this.#isCaughtUp = true;
        this.#onEvents([]);
      }
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => this.#look(), POLL_MS);
    }
  }

  #open(): boolean {
    const { folder } = this.#place;
    const tail = JournalTail.open(folder, SUITE_LINE_BYTES_MAX);
    if (tail === 'foreign') this.#become('foreign');
    else if (tail === 'missing') this.#becomeMissing();
    else {
      this.#tail = tail;
      this.#missingSinceMs = undefined;
      this.#openedAtMs = monotonicMs();
      this.#watches.add(path.join(folder, JOURNAL));
    }
    return this.#tail !== undefined;
  }

  /** A new run has a folder before it has a journal. */
  #becomeMissing(): void {
    const { folder } = this.#place;
    const nowMs = monotonicMs();
    this.#missingSinceMs ??= nowMs;
    if (isSealed(folder)) this.#become('sealed');
    else if (!existsSync(folder) || nowMs - this.#missingSinceMs > MISSING_MS) this.#become('gone');
  }

  /** The text was removed before the run was sealed, so it can be read only from the evidence, after the seal. */
  get #isTextMissing(): boolean {
    return this.#isTextOver && this.#texts.needsSealed;
  }

  /** Reports the next events. Returns whether there may be more. */
  #advance(): boolean {
    const tail = this.#tail as JournalTail;
    // Look first: what is written before the journal disappears must be read before the end is reported.
    const isThere = tail.isIn(this.#place.folder);
    if (this.#waiting.length === 0) this.#waiting = tail.read(READ_BYTES);
    if (tail.isForeign) return this.#becomeForeign(isThere);
    const events: RunEvent[] = [];
    const hasMoreLines = this.#waiting.length > 0;
    this.#report(events, line => !isEndOfText(line));
    const hasMoreText = this.#texts.read(events, this.#line, false);
    if (!hasMoreText) this.#report(events, () => true);
    if (events.length > 0) this.#onEvents(events);
    if (this.#isClosed || hasMoreLines || hasMoreText) return !this.#isClosed;
    if (!isThere) return this.#end();
    if (this.#within !== undefined) this.#watches.add(this.#within);
    return this.#lookAtOwner();
  }

  #becomeForeign(isThere: boolean): boolean {
    this.#become('foreign');
    // `--resume` may replace it with a journal of this user.
    if (!isThere) this.#forget();
    return false;
  }

  /** Reports waiting lines as long as they are wanted. */
  #report(events: RunEvent[], isWanted: (line: TailLine) => boolean): void {
    let count = 0;
    for (const line of this.#waiting) {
      if (!isWanted(line)) break;
      count++;
      this.#note(line);
      this.#line = line.number;
      if (isEndOfText(line)) this.#isTextOver = true;
      events.push(lineEvent(line, cursorText(this.cursor), this.#verdictOf));
    }
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
  }

  /** Takes what concerns the follower itself from a line. */
  #note({ value }: TailLine): void {
    const line = value as Partial<KnownLine> | undefined;
    if (line?.is === 'laying' || line?.is === 'begun') this.#owner = line.owner;
    if (line?.is === 'left') this.#owner = undefined;
    if (line?.is === 'begun' || this.#state === 'foreign') this.#state = 'following';
    if (line?.is !== 'planned' || !line.plan) return;
    this.#owner = line.plan.owner;
    const { streams, within } = RunStream.of(line.plan.request.kind, this.#place.folder);
    this.#texts = new RunTexts(streams);
    this.#within = within === '' ? undefined : path.join(this.#place.folder, within);
  }

  /** The journal is gone: the run is sealed, replaced or removed. */
  #end(): boolean {
    const { folder } = this.#place;
    if (isSealed(folder)) {
      const events: RunEvent[] = [];
      const hasMore = this.#texts.read(events, this.#line, true);
      if (events.length > 0) this.#onEvents(events);
      if (!hasMore) this.#become('sealed');
      return hasMore;
    }
    const hasReported = this.#line > 0;
    this.#watches.remove(path.join(folder, JOURNAL));
    this.#forget();
    if (hasReported && existsSync(path.join(folder, JOURNAL))) {
      this.#round++;
      this.#onEvents([stateEvent('restart')]);
    }
    return true;
  }

  #lookAtOwner(): boolean {
    const isNew = this.#line === 0 && monotonicMs() - this.#openedAtMs < MISSING_MS;
    if (isNew || isOwnerAlive({ plan: this.#owner && { owner: this.#owner } })) return false;
    if (isSealed(this.#place.folder)) return this.#end();
    this.#become('dead');
    return false;
  }

  #become(state: Exclude<RunState, 'following'>): void {
    if (this.#state === state || this.#isClosed) return;
    this.#state = state;
    this.#isCaughtUp = true;
    this.#onEvents([stateEvent(state)]);
  }

  #verdict(artifact: Parameters<EarlyVerdict>[0]): ReturnType<EarlyVerdict> {
    try {
      this.#cases ??= new CaseFinder(this.#place.folder);
      const asked = this.#cases.find(artifact.case_id);
      return asked ? earlyVerdict(asked, artifact) : null;
    } catch {
      // Without the case, the verdict is unknown.
      return null;
    }
  }

  /** Looks soon, but not more often than every 50 ms. */
  #wake(): void {
    if (this.#isClosed || this.#next || !this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), Math.max(0, this.#lookedAtMs + LOOK_MS - monotonicMs()));
  }
}

export type RunState = 'following' | 'dead' | 'foreign' | 'sealed' | 'gone';

export function stateEvent(kind: 'dead' | 'foreign' | 'sealed' | 'gone' | 'restart'): RunEvent {
  return { kind, id: null, data: {} };
}

/** The program has printed everything before this line is written. */
function isEndOfText({ value }: TailLine): boolean {
  return (value as { is?: unknown } | undefined)?.is === 'captured';
}

const POLL_MS = 1_000;
const LOOK_MS = 50;
const MISSING_MS = 5_000;
const READ_BYTES = 1024 * 1024;
