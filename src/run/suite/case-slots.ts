import { Slots } from '../../base/slots.ts';
import { Turns } from './turns.ts';

export interface CaseSlot {
  /** Frees the slot when the answer has arrived. Resolves when it is time to read the answer. */
  readonly onArrived: () => Promise<void>;
  /** Frees the slot if it is still taken. */
  readonly free: () => void;
}

/**
 * Limits how many cases are with the target at once. An answer that has arrived needs no slot, so the target works on the
 * next case while Proctor reads it.
 */
export class CaseSlots {
  readonly #turns = new Turns(ANSWERS_PER_TURN);
  readonly #slots: Slots;

  constructor(slots: number) {
    this.#slots = new Slots(slots);
  }

  /** Resolves in the order of the calls. */
  async take(): Promise<CaseSlot> {
    const free = await this.#slots.take();
    const onArrived = (): Promise<void> => {
      free();
      return this.#turns.next();
    };
    return { onArrived, free };
  }
}

/** With fewer, the journal is written more often. With more, answers that have arrived wait longer. */
const ANSWERS_PER_TURN = 4;
