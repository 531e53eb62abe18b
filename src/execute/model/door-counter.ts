import { closeSync, openSync, writeSync } from 'node:fs';
import type { DoorCount } from '../../contracts/agent-step/model-access.ts';
import type { DoorStats } from './door.ts';

/** A small file that always contains the last count, for recovery after a crash. */
export class DoorCounter {
  #fd: number | undefined;
  #bytes = 0;

  constructor(file: string) {
    try {
      this.#fd = openSync(file, 'wx', 0o600);
    } catch {
      // Without the file, recovery reports the count as unknown.
    }
  }

  /** Pads each count to the length of the previous one, which it overwrites. */
  write(stats: DoorStats, difference: string | undefined): void {
    if (this.#fd === undefined) return;
    const text = JSON.stringify({ ...countOf(stats), difference: difference ?? null });
    this.#bytes = Math.max(this.#bytes, Buffer.byteLength(text));
    const bytes = Buffer.alloc(this.#bytes, ' ');
    bytes.write(text);
    try {
      writeSync(this.#fd, bytes, 0, bytes.length, 0);
    } catch {
      this.close();
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

/** The model proxy's counts, in the form that the run's outcome uses. */
export function countOf({ requests, failures, spent, lastAsk, refused, stripped }: DoorStats): DoorCount {
  return {
    requests,
    failures,
    last_status: lastAsk?.status ?? null,
    counted: {
      requests: spent.requests,
      input_tokens: spent.inputTokens,
      cached_input_tokens: spent.cachedInputTokens,
      output_tokens: spent.outputTokens,
      cost_usd: spent.costUsd,
      estimated: spent.estimated,
    },
    refused: { total: refused.total, listed: [...refused.listed] },
    stripped: { total: stripped.total, listed: [...stripped.listed] },
  };
}
