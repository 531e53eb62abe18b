import { AnswerReader } from './answer-reader.ts';
import type { Admitted } from './budget.ts';
import type { Gateway } from './gateway.ts';

export interface AskEnd {
  /** The HTTP status from the model API; null if it did not answer. */
  readonly status: number | null;
  /** The answer is complete and contains no error. */
  readonly isWhole: boolean;
  /** Why the answer is incomplete, as a sentence. */
  readonly says: string | null;
}

/** An open request to the model. Reads the answer and settles its cost. */
export class ModelRequest {
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

  answered(status: number, contentType: string | undefined): void {
    this.#status = status;
    this.#reader = new AnswerReader(this.#gateway, contentType);
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#reader?.take(chunk);
  }

  /** A disconnect by the agent says nothing about the model: agents often disconnect right after the last event. */
  over({ isWhole, isHungUp, says }: { isWhole: boolean; isHungUp: boolean; says: string | null }): void {
    const heard = this.#reader?.end() ?? {};
    // Errors cost nothing.
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
