/** An event as it is sent, and the position after it. */
export interface SentEvent {
  readonly id: string;
  readonly text: string;
}

/** The latest events of a run, up to a size. Events are numbered without gaps. */
export class EventRing {
  #events: (SentEvent | undefined)[] = [];
  /** The index of the oldest event, and its number. */
  #head = 0;
  #first = 0;
  #units = 0;
  /** The position before the oldest event. */
  #before: string;

  constructor(before: string) {
    this.#before = before;
  }

  /** The number of the next event. */
  get end(): number {
    return this.#first + this.#events.length - this.#head;
  }

  push(event: SentEvent, unitsMax: number): void {
    this.#events.push(event);
    this.#units += event.text.length;
    while (this.#units > unitsMax && this.#head < this.#events.length) this.#drop();
  }

  at(number: number): SentEvent | undefined {
    return number < this.#first ? undefined : this.#events[this.#head + number - this.#first];
  }

  /** The number of the event that follows a position; undefined if the ring does not know the position. */
  after(id: string): number | undefined {
    for (let index = this.#events.length - 1; index >= this.#head; index--) {
      if (this.#events[index]?.id === id) return this.#first + index - this.#head + 1;
    }
    return id === this.#before ? this.#first : undefined;
  }

  #drop(): void {
    const oldest = this.#events[this.#head] as SentEvent;
    this.#before = oldest.id;
    this.#units -= oldest.text.length;
    this.#events[this.#head] = undefined;
    this.#head++;
    this.#first++;
    if (this.#head < COMPACT_EVERY) return;
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }
}

const COMPACT_EVERY = 4_096;
