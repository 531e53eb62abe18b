import { monotonicMs } from '../../base/clock.ts';

export interface ClockLimits {
  /** Without progress. */
  readonly idleMs: number;
  /** Without progress, while a tool that the agent called has not answered: a long test run is silent. */
  readonly toolIdleMs: number;
  /** From its last line to its end. */
  readonly graceMs: number;
}

/**
 * The two clocks of an agent that only its own words and its model's can set: the one that stops it where it does not get
 * on, and the one that stops it where it has said its last line and stays. The launcher holds how long it may take in all.
 */
export class AgentClocks {
  readonly #limits: ClockLimits;
  readonly #onIdle: (hasFinished: boolean) => void;
  #since = monotonicMs();
  #inFlight = 0;
  #hasFinished = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ClockLimits, onIdle: (hasFinished: boolean) => void) {
    this.#limits = limits;
    this.#onIdle = onIdle;
    this.#watch();
  }

  /** It got on, and waits for so many tools. */
  progress(inFlight: number): void {
    if (this.#hasFinished || this.#isClosed) return;
    this.#since = monotonicMs();
    const wasWaiting = this.#inFlight > 0;
    this.#inFlight = inFlight;
    // A limit that became shorter must not wait for the end of the longer one.
    if (wasWaiting && inFlight === 0) this.#again();
  }

  /** It has said its last line. */
  finished(): void {
    if (this.#hasFinished || this.#isClosed) return;
    this.#since = monotonicMs();
    this.#hasFinished = true;
    this.#again();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #again(): void {
    clearTimeout(this.#timer);
    this.#watch();
  }

  #watch(): void {
    const { idleMs, toolIdleMs, graceMs } = this.#limits;
    const limitMs = this.#hasFinished ? graceMs : this.#inFlight > 0 ? toolIdleMs : idleMs;
    const leftMs = limitMs - (monotonicMs() - this.#since);
    if (leftMs <= 0) this.#onIdle(this.#hasFinished);
    else this.#timer = setTimeout(() => this.#watch(), leftMs);
  }
}
