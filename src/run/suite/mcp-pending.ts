import { monotonicMs } from '../../base/clock.ts';
import type { HttpAnswer } from '../../execute/http.ts';

/** A request that waits for its response, within its limits. */
export class PendingRpc {
  readonly answer: Promise<HttpAnswer>;
  readonly #startedMs = monotonicMs();
  readonly #deadline: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout | undefined;
  #resolve: (answer: HttpAnswer) => void = () => undefined;

  constructor(deadlineMs: number, idleMs: number) {
    this.answer = new Promise(resolve => (this.#resolve = resolve));
    this.#deadline = setTimeout(() => this.end('timeout'), Math.max(0, deadlineMs));
    this.#idle = idleMs < deadlineMs ? setTimeout(() => this.end('idle'), idleMs) : undefined;
  }

  /** Something arrived from the server. */
  refresh(): void {
    this.#idle?.refresh();
  }

  /** Only the first end counts. */
  end(ended: HttpAnswer['ended'], errorName?: string): void {
    this.#end({ ended, body: NOTHING, bodyTotal: null, ...(errorName !== undefined && { errorName }) });
  }

  /** Ends with the response; `bytesTotal` is its length if it is cut. */
  respond(body: Buffer, bytesTotal: number | undefined): void {
    this.#end({
      ended: bytesTotal === undefined ? 'complete' : 'too_large',
      body,
      bodyTotal: bytesTotal ?? body.length,
    });
  }

  #end(answer: Omit<HttpAnswer, 'latencyMs' | 'headers'>): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#idle);
    this.#resolve({ ...answer, latencyMs: monotonicMs() - this.#startedMs, headers: {} });
  }
}

const NOTHING = Buffer.alloc(0);
