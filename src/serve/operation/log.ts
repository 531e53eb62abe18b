import { instantText, systemClock } from '../../base/clock.ts';
import { causeText, type Fault } from '../../base/fault.ts';

/** The server's log: one JSON object per line, without secrets, bodies or the names of cases. */
export class ServerLog {
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  note(event: string, facts: Readonly<Record<string, string | number | boolean | null>> = {}): void {
    this.#write(`${JSON.stringify({ at: instantText(systemClock.now()), event, ...facts })}\n`);
  }

  fault(event: string, correlationId: string, { code, message, cause }: Fault): void {
    const detail = causeText(cause).slice(0, DETAIL_CHARS_MAX);
    this.note('fault', { in: event, correlation_id: correlationId, code, message, ...(detail && { detail }) });
  }
}

const DETAIL_CHARS_MAX = 4_096;
