import { AnswerReader } from './answer-reader.ts';
import type { Admitted } from './budget.ts';
import type { Gateway } from './gateway.ts';

/** How a request ended that made a model answer. */
export interface AskEnd {
  /** What the model API answered; null where it did not. */
  readonly status: number | null;
  /** The answer came to its end, and was no error in the middle. */
  readonly isWhole: boolean;
  /** Why there is no whole answer, as a sentence. */
  readonly says: string | null;
}

/** A request under way that makes the model answer. It listens to the answer, and settles what it cost. */
export class Ask {
  readonly #gateway: Gateway;
  readonly #admitted: Admitted;
  readonly #onEnd: (end: AskEnd) => void;
  #reader: AnswerReader | undefined;
  #status: number | null = null;
  #bytes = 0;

  constructor(gateway: Gateway, admitted: Admitted, onEnd: (end: AskEnd) => void) {
    this.#gateway = gateway;
    this.#admitted = admitted;
    this.#onEnd = onEnd;
  }

  /** The model API has begun to answer. */
  answered(status: number, contentType: string | undefined): void {
    this.#status = status;
    this.#reader = new AnswerReader(this.#gateway, contentType);
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#reader?.take(chunk);
  }

  /**
   * The exchange is over. An answer that the agent itself gave up says nothing about the model; agents do that on purpose,
   * also right after the last event.
   */
  over({ isWhole, isHungUp, says }: { isWhole: boolean; isHungUp: boolean; says: string | null }): void {
    const heard = this.#reader?.end() ?? {};
    // An error costs nothing.
    const isGood = this.#status !== null && this.#status < 300;
    const isBilled = isGood || (this.#status === null && isHungUp);
    this.#admitted.settle({ isBilled, bytes: this.#bytes, heard });
    if (isHungUp && heard.isDone !== true) return;
    const isError = isGood && heard.isError === true && heard.isDone !== true;
    this.#onEnd({
      status: this.#status,
      isWhole: (isWhole || heard.isDone === true) && !isError,
      says: isError ? 'The model API ended its answer with an error.' : says,
    });
  }
}
