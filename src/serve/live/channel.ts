import { monotonicMs } from '../../base/clock.ts';
import { LAST_EVENTS, type RunEvent } from '../../contracts/run-events.ts';
import { cursorOf, cursorText, RUN_START, type RunCursor } from '../../verbs/run-cursor.ts';
import { RunFollower, type RunState, stateEvent } from '../../verbs/run-follower.ts';
import { EventRing } from './event-ring.ts';
import type { LiveLimits } from './live-limits.ts';
import type { Viewer } from './viewer.ts';

export type Followed = ConstructorParameters<typeof RunFollower>[0];

/**
 * One run and its viewers. Events are collected for a quarter of a second, and then sent to all viewers as one frame.
 * A viewer that comes later first gets what it has missed.
 */
export class RunChannel {
  readonly #follower: RunFollower;
  readonly #limits: LiveLimits;
  readonly #ringUnits: () => number;
  readonly #viewers = new Map<Viewer, 'waiting' | 'catching up' | 'live'>();
  readonly #from = new Map<Viewer, RunCursor>();
  #ring = new EventRing(cursorText(RUN_START));
  /** What every live viewer has been sent. */
  #sent: RunCursor = RUN_START;
  #sentState: RunState = 'following';
  #cuts: string[] = [];
  #pending: RunEvent[] = [];
  #pendingUnits = 0;
  #texts: string[] = [];
  #frameAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(place: Followed, limits: LiveLimits, ringUnits: () => number) {
    this.#limits = limits;
    this.#ringUnits = ringUnits;
    this.#follower = new RunFollower(place, events => this.#take(events));
  }

  get viewers(): Iterable<Viewer> {
    return this.#viewers.keys();
  }

  get isEmpty(): boolean {
    return this.#viewers.size === 0;
  }

  add(viewer: Viewer, from: RunCursor): void {
    this.#viewers.set(viewer, 'waiting');
    this.#from.set(viewer, from);
    if (this.#follower.isCaughtUp) this.#welcome();
  }

  remove(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    this.#from.delete(viewer);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#follower.close();
  }

  #take(events: readonly RunEvent[]): void {
    for (const event of events) {
      const text = wireText(event);
      this.#pending.push(event);
      this.#texts.push(text);
      this.#pendingUnits += text.length;
    }
    if (this.#pendingUnits > FRAME_UNITS) this.#flush();
    else if (this.#pending.length > 0)
      this.#timer ??= setTimeout(
        () => this.#flush(),
        Math.max(1, this.#frameAtMs + this.#limits.frameMs - monotonicMs()),
      );
    if (this.#follower.isCaughtUp) this.#welcome();
  }

  /** Sends everything that is pending. */
  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.length === 0) return;
    this.#frameAtMs = monotonicMs();
    const frame = Buffer.from(this.#texts.join(''));
    const live = [...this.#viewers].flatMap(([viewer, state]) => (state === 'live' ? [viewer] : []));
    this.#remember();
    this.#sent = this.#follower.cursor;
    this.#sentState = this.#follower.state;
    for (const viewer of live) viewer.send(frame);
    if (LAST_EVENTS.has(this.#sentState as RunEvent['kind'])) for (const viewer of live) viewer.end();
  }

  #remember(): void {
    const unitsMax = this.#ringUnits();
    for (const [index, { kind, id }] of this.#pending.entries()) {
      const text = this.#texts[index] as string;
      if (id !== null) this.#ring.push({ id, text }, unitsMax);
      if (kind === 'cut') this.#cuts.push(text);
      if (kind === 'restart') this.#startOver();
    }
    this.#pending = [];
    this.#texts = [];
    this.#pendingUnits = 0;
  }

  /** The journal is another one. Viewers that read the old one come back. */
  #startOver(): void {
    this.#ring = new EventRing(cursorText(RUN_START));
    this.#cuts = [];
    for (const [viewer, state] of this.#viewers) if (state === 'catching up') viewer.cut();
  }

  #welcome(): void {
    for (const [viewer, from] of this.#from) {
      this.#from.delete(viewer);
      this.#viewers.set(viewer, 'catching up');
      this.#flush();
      const isOver = LAST_EVENTS.has(this.#sentState as RunEvent['kind']);
      const isLost = !isOver && this.#follower.hasStartedOver(from, this.#sent);
      if (isLost) viewer.send(wireText(stateEvent('restart')));
      this.#catchUp(viewer, isLost ? RUN_START : from);
    }
  }

  #catchUp(viewer: Viewer, from: RunCursor): void {
    const to = this.#sent;
    viewer.catchUp(this.#missed(from, to), () => {
      if (to === this.#sent) this.#goLive(viewer);
      else this.#catchUp(viewer, to);
    });
  }

  /** The texts between two positions: from memory if possible, else from the run's files. */
  #missed(from: RunCursor, to: RunCursor): Generator<string> {
    const ring = this.#ring;
    const first = ring.after(cursorText(from));
    // Look at the end now: when the texts are read, the ring may contain more.
    return first === undefined ? this.#fromFiles(from, to) : this.#fromRing(ring, { first, end: ring.end }, from, to);
  }

  *#fromRing(
    ring: EventRing,
    { first, end }: { readonly first: number; readonly end: number },
    from: RunCursor,
    to: RunCursor,
  ): Generator<string> {
    let at = from;
    for (let number = first; number < end; number++) {
      const event = ring.at(number);
      if (!event) {
        // The ring has overtaken a slow viewer.
        yield* this.#fromFiles(at, to);
        return;
      }
      at = cursorOf(event.id) ?? at;
      yield event.text;
    }
  }

  *#fromFiles(from: RunCursor, to: RunCursor): Generator<string> {
    for (const event of this.#follower.again(from, to)) yield wireText(event);
  }

  #goLive(viewer: Viewer): void {
    if (!this.#viewers.has(viewer)) return;
    this.#viewers.set(viewer, 'live');
    for (const text of this.#cuts) viewer.send(text);
    if (this.#sentState === 'following') return;
    viewer.send(wireText(stateEvent(this.#sentState)));
    if (LAST_EVENTS.has(this.#sentState)) viewer.end();
  }
}

/** An event as a server-sent event. JSON contains no line feeds. */
function wireText({ kind, id, data }: RunEvent): string {
  return `event: ${kind}\n${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

const FRAME_UNITS = 256 * 1024;
