/** Limits how many do the same work at once. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #left: number;

  constructor(slots: number) {
    this.#left = slots;
  }

  /** Takes a slot until the returned function is called. Resolves in the order of the calls. */
  async take(): Promise<() => void> {
    if (this.#left > 0) this.#left--;
    else await new Promise<void>(resolve => this.#waiting.push(resolve));
    let isTaken = true;
    return () => {
      if (isTaken) this.#pass();
      isTaken = false;
    };
  }

  #pass(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#left++;
  }
}
