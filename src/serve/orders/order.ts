import { instantText, systemClock } from '../../base/clock.ts';
import { noteOrder, type EndedLine, type OrderLine, type OrderedLine, type StoredOrder } from './order-folder.ts';
import type { OrderEnd, OrderToRun } from './order-kind.ts';

/** An order in memory. Every change is on disk before it is here. */
export class Order implements OrderToRun {
  readonly id: string;
  readonly folder: string;
  readonly ordered: OrderedLine;
  readonly waitsSince: string;
  readonly owner: StoredOrder['owner'];
  readonly cancel = new AbortController();
  /** Settles when its run is prepared or refused. */
  ready: Promise<void> = Promise.resolve();
  /** Settles when its run is over. */
  over: Promise<void> = Promise.resolve();
  isPreparing = false;
  isNew = false;
  /** The server stops its run, and the next server continues it. */
  isInterrupted = false;
  state: 'waiting' | 'running' | 'ended';
  isLaid: boolean;
  begins: number;
  ended: EndedLine | undefined;

  constructor(id: string, folder: string, stored: StoredOrder) {
    this.id = id;
    this.folder = folder;
    this.ordered = stored.ordered;
    this.waitsSince = stored.waitsSince;
    this.owner = stored.owner;
    this.isLaid = stored.isLaid;
    this.begins = stored.begins;
    this.ended = stored.ended;
    this.state = stored.ended ? 'ended' : 'waiting';
  }

  /** Sorts orders, oldest first. */
  get age(): string {
    return `${this.waitsSince} ${this.id}`;
  }

  interrupt(): void {
    this.isInterrupted = true;
    this.cancel.abort();
  }

  note(line: OrderLine): void {
    noteOrder(this.folder, line);
    if (line.is === 'laid') this.isLaid = true;
  }

  begin(): void {
    this.note({ is: 'begun', at: instantText(systemClock.now()) });
    this.begins++;
    this.state = 'running';
  }

  end({ how, message }: NonNullable<OrderEnd>): void {
    const ended: EndedLine = { is: 'ended', at: instantText(systemClock.now()), how, message };
    this.note(ended);
    this.#endHere(ended);
  }

  /** Ends it although the line cannot be written now. Returns a function that tries to write it again. */
  endUnwritten({ how, message }: NonNullable<OrderEnd>): () => void {
    const ended: EndedLine = { is: 'ended', at: instantText(systemClock.now()), how, message };
    this.#endHere(ended);
    return () => this.note(ended);
  }

  #endHere(ended: EndedLine): void {
    this.ended = ended;
    this.state = 'ended';
  }
}
