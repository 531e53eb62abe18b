import type { AgentEvent, Denial } from '../contracts/agent-step/reading.ts';

interface Call {
  readonly tool: string;
  readonly path: string | undefined;
}

/** The tool calls that have no result yet: at most 1,000. Beyond that, the oldest is dropped. */
export class Calls {
  readonly #open = new Map<string, Call>();
  /** The open calls that the agent does not wait for. */
  readonly #background = new Set<string>();

  begin(id: string, call: Call): void {
    // A call that starts again becomes the newest.
    this.end(id);
    this.#open.set(id, call);
    if (this.#open.size > CALLS_MAX) this.end(oldestOf(this.#open) ?? id);
  }

  end(id: string): void {
    this.#open.delete(id);
    this.#background.delete(id);
  }

  /** Moves a tool's open calls to the background: the agent continued without their results. */
  leave(tool: string): void {
    for (const [id, call] of this.#open) if (call.tool === tool) this.#background.add(id);
  }

  isNewest(id: string): boolean {
    return [...this.#open.keys()].at(-1) === id;
  }

  get(id: string): Call | undefined {
    return this.#open.get(id);
  }

  /** The number of calls that the agent waits for. */
  get inFlight(): number {
    return this.#open.size - this.#background.size;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }
}

const CALLS_MAX = 1_000;

/** A run's denials: one per call, even if the stream reports the call several times. */
export class Denials {
  readonly list: Denial[] = [];
  count = 0;
  readonly #ids = new Set<string>();

  /** Records a denial and returns its event. Returns no event if this call was denied before. */
  add(denial: Denial): AgentEvent[] {
    const { call, tool, reason } = denial;
    if (call !== null) {
      if (this.#ids.has(call)) return [];
      this.#ids.add(call);
      if (this.#ids.size > DENIALS_MAX) this.#ids.delete(oldestOf(this.#ids) ?? call);
    }
    this.count++;
    if (this.list.length < DENIALS_MAX) this.list.push(denial);
    return [{ kind: 'denial', call, tool, reason }];
  }

  /** Some ids were dropped, so repeated denials can no longer be recognized. */
  get isBeyondMemory(): boolean {
    return this.count > DENIALS_MAX;
  }
}

const DENIALS_MAX = 1_000;

function oldestOf(ids: { keys(): Iterator<string> }): string | undefined {
  const { value, done } = ids.keys().next();
  return done ? undefined : value;
}
