import type { ServerResponse } from 'node:http';
import { BusyFault } from './busy-fault.ts';

interface SlotLimits {
  readonly max: number;
  readonly perIdentity: number;
  /** How it refuses a client that finds no slot. */
  readonly busy: () => BusyFault;
}

/** Limits how many clients do the same costly thing at once, in all and per identity. */
export class ClientSlots {
  readonly #limits: SlotLimits;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** The number of slots that are taken. */
  get count(): number {
    return this.#all;
  }

  /** Takes a slot until the returned function is called. */
  take(identity: string): () => void {
    const own = this.#taken.get(identity) ?? 0;
    const { max, perIdentity, busy } = this.#limits;
    if (own >= perIdentity || this.#all >= max) throw busy();
    this.#taken.set(identity, own + 1);
    this.#all++;
    return () => {
      this.#all--;
      const left = (this.#taken.get(identity) ?? 1) - 1;
      if (left > 0) this.#taken.set(identity, left);
      else this.#taken.delete(identity);
    };
  }

  /** Takes a slot until the connection closes. A client that has left already takes none. */
  hold(identity: string, to: ServerResponse): void {
    if (to.destroyed || to.socket?.destroyed) return;
    to.once('close', this.take(identity));
  }
}

/** For routes that receive large bodies. */
export const uploadSlots = (max: number, perIdentity: number): ClientSlots =>
  new ClientSlots({
    max,
    perIdentity,
    busy: () => new BusyFault('too_many_uploads', 'Too many uploads are under way. Try again in a few seconds.', 5),
  });

/** For packs, which are made on the disk of the server. */
export const packSlots = (max: number, perIdentity: number): ClientSlots =>
  new ClientSlots({
    max,
    perIdentity,
    busy: () => new BusyFault('too_many_packs', 'Too many packs are under way. Try again in a few seconds.', 5),
  });

/** For streams that stay open as long as somebody looks. */
export const viewerSlots = (max = 1_000, perIdentity = 250): ClientSlots =>
  new ClientSlots({
    max,
    perIdentity,
    busy: () => new BusyFault('too_many_viewers', 'Too many live views are open. Close some, or try again later.', 30),
  });
