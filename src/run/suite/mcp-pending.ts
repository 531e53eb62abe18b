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
  end(
    ended: HttpAnswer['ended'],
    errorName?: string,
    body: Buffer = Buffer.alloc(0),
    bytesTotal = body.length,
  ): Promise<HttpAnswer> {
    clearTimeout(this.#deadline);
    clearTimeout(this.#idle);
    this.#resolve({
      ended,
      latencyMs: monotonicMs() - this.#startedMs,
      headers: {},
      body,
      bodyTotal: bytesTotal,
      ...(errorName !== undefined && { errorName }),
    });
    return this.answer;
  }
}
