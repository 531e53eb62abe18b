import { hash } from 'node:crypto';
import limiters from 'rate-limiter-flexible';
import { newToken } from '../../base/ids.ts';

/** How often a client may ask, per minute. */
export interface RateSettings {
  /** Requests of one identity. */
  readonly requests: number;
  /** Requests without an identity from one address. */
  readonly anonymous: number;
  /** Failed proofs of identity from one address. */
  readonly failures: number;
}

export const RATES: RateSettings = { requests: 6_000, anonymous: 1_200, failures: 20 };

/** Counts requests in windows of a minute. */
export class RateLimits {
  readonly #requests: Window;
  readonly #anonymous: Window;
  readonly #failures: Window;

  constructor(settings: RateSettings) {
    this.#requests = new Window(settings.requests);
    this.#anonymous = new Window(settings.anonymous);
    this.#failures = new Window(settings.failures);
  }

  /** Counts a request of an identity. Returns the seconds to wait if there were too many, else 0. */
  async request(identityId: string): Promise<number> {
    return this.#requests.add(identityId);
  }

  /** Counts a request without an identity. */
  async anonymous(address: string): Promise<number> {
    return this.#anonymous.add(address);
  }

  /** Counts a failed proof of identity. */
  async failure(address: string): Promise<void> {
    await this.#failures.add(address);
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

  constructor(countMax: number) {
    this.#countMax = countMax;
    this.#limiter = new limiters.RateLimiterMemory({ points: countMax, duration: WINDOW_S });
  }

  async add(name: string): Promise<number> {
    const { consumedPoints, msBeforeNext } = await this.#limiter.penalty(this.#bucket(name));
    return consumedPoints > this.#countMax ? secondsOf(msBeforeNext) : 0;
  }

  async waitOf(name: string): Promise<number> {
    const count = await this.#limiter.get(this.#bucket(name));
    return count !== null && count.consumedPoints >= this.#countMax ? secondsOf(count.msBeforeNext) : 0;
  }

  /** A fixed number of buckets bounds the memory. The salt keeps others from choosing whom they share one with. */
  #bucket(name: string): number {
    return Number.parseInt(hash('sha256', this.#salt + name, 'hex').slice(0, 4), 16);
  }
}

const WINDOW_S = 60;

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
