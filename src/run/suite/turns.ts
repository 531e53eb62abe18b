/** Spreads work over turns of the event loop, so that requests and answers do not wait until all of it is done. */
export class Turns {
  readonly #perTurn: number;
  readonly #waiting: (() => void)[] = [];
  #isSet = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Resolves in the order of the calls, for at most `perTurn` of them in one turn. */
  next(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve);
      this.#set();
    });
  }

  #set(): void {
    if (this.#isSet) return;
    this.#isSet = true;
    setImmediate(() => {
      this.#isSet = false;
      for (const resolve of this.#waiting.splice(0, this.#perTurn)) resolve();
      if (this.#waiting.length > 0) this.#set();
    });
  }
}
