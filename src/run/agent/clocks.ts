import { monotonicMs } from '../../base/clock.ts';

export interface ClockLimits {
  /** How long the agent may go without progress before Proctor stops it. */
  readonly idleMs: number;
  /** The same while a tool call is pending, because a long test run may print nothing. */
  readonly toolIdleMs: number;
  /** The time limit between the agent's last line and its exit. */
  readonly graceMs: number;
}

/**
 * Stops an agent that makes no progress, or that keeps running after its last line. Output from the agent or its model
 * resets these clocks. The launcher enforces the total time.
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

  /** Records progress. `inFlight` is the number of pending tool calls. */
  progress(inFlight: number): void {
    if (this.#hasFinished || this.#isClosed) return;
    this.#since = monotonicMs();
    const wasWaiting = this.#inFlight > 0;
    this.#inFlight = inFlight;
    // A shorter limit must not wait for the longer one to expire.
    if (wasWaiting && inFlight === 0) this.#again();
  }

  /** Called when the agent has written its last line. */
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
