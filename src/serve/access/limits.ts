import { hash } from 'node:crypto';
import limiters from 'rate-limiter-flexible';
import { monotonicMs } from '../../base/clock.ts';
import { newToken } from '../../base/ids.ts';

/** How often a client may ask, per minute. */
export interface RateSettings {
  /** Requests of one identity. */
  readonly requests: number;
  /** Requests without an identity from one address. */
  readonly anonymous: number;
  /** Failed proofs of identity from one address. */
  readonly failures: number;
  /** Requests with a token of workers, which many machines may share; 60,000 by default. */
  readonly workers?: number;
}

export const RATES: RateSettings = { requests: 6_000, anonymous: 1_200, failures: 20 };

/** Counts requests in windows of a minute. */
export class RateLimits {
  readonly #requests: Window;
  readonly #anonymous: Window;
  readonly #failures: Window;
  readonly #workers: Window;

  constructor(settings: RateSettings) {
    this.#requests = new Window(settings.requests);
    this.#anonymous = new Window(settings.anonymous);
    this.#failures = new Window(settings.failures);
    this.#workers = new Window(settings.workers ?? WORKER_REQUESTS);
  }

  /** Counts a request of an identity, whose token may have a rate of its own. Returns the seconds to wait if there were too many, else 0. */
  async request(identityId: string, isWorker = false, rate?: number): Promise<number> {
    return (isWorker ? this.#workers : this.#requests).add(identityId, rate);
  }

  /** Counts a request without an identity. */
  async anonymous(address: string): Promise<number> {
    return this.#anonymous.add(address);
  }

  /** Counts a failed proof of identity. */
  async failure(address: string): Promise<void> {
    await this.#failures.add(address);
  }

  /** Whether any proof of identity failed in the last minute. Without one, no address is blocked. */
  get hasFailures(): boolean {
    return this.#failures.isCounting;
  }

  /** The seconds during which proofs from an address are not even looked at. */
  async blockedFor(address: string): Promise<number> {
    return this.#failures.waitOf(address);
  }
}

class Window {
  readonly #limiter: limiters.RateLimiterMemory;
  readonly #salt = newToken();
  readonly #countMax: number;
  #countedMs = Number.NEGATIVE_INFINITY;
  /** The buckets of recent names, because a hash costs more than all other parts of a count. */
  readonly #buckets = new Map<string, number>();

  constructor(countMax: number) {
    this.#countMax = countMax;
    this.#limiter = new limiters.RateLimiterMemory({ points: countMax, duration: WINDOW_S });
  }

  /** Whether anything was counted within the window. */
  get isCounting(): boolean {
    return monotonicMs() - this.#countedMs <= WINDOW_S * 1_000;
  }

  async add(name: string, countMax = this.#countMax): Promise<number> {
    this.#countedMs = monotonicMs();
    const { consumedPoints, msBeforeNext } = await this.#limiter.penalty(this.#bucket(name));
    return consumedPoints > countMax ? secondsOf(msBeforeNext) : 0;
  }

  async waitOf(name: string): Promise<number> {
    const count = await this.#limiter.get(this.#bucket(name));
    return count !== null && count.consumedPoints >= this.#countMax ? secondsOf(count.msBeforeNext) : 0;
  }

  /** A fixed number of buckets bounds the memory. The salt keeps others from choosing whom they share one with. */
  #bucket(name: string): number {
    const known = this.#buckets.get(name);
    if (known !== undefined) return known;
    const bucket = Number.parseInt(hash('sha256', this.#salt + name, 'hex').slice(0, 4), 16);
    if (this.#buckets.size >= NAMES_MAX) this.#buckets.clear();
    this.#buckets.set(name, bucket);
    return bucket;
  }
}

const WINDOW_S = 60;
const NAMES_MAX = 1_000;
const WORKER_REQUESTS = 60_000;

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
