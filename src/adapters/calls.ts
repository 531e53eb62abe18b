import type { Denial } from '../contracts/agent-step/reading.ts';

interface Call {
  readonly tool: string;
  readonly path: string | undefined;
}

/** The tool calls that have no result yet. An agent that begins calls and never ends them fills no memory: the oldest is forgotten. */
export class Calls {
  readonly #open = new Map<string, Call>();
  /** Of those, the ones that the agent does not wait for. */
  readonly #background = new Set<string>();

  begin(id: string, call: Call): void {
    // A call that begins again is the newest.
    this.end(id);
    this.#open.set(id, call);
    if (this.#open.size > CALLS_MAX) this.end(oldestOf(this.#open) ?? id);
  }

  end(id: string): void {
    this.#open.delete(id);
    this.#background.delete(id);
  }

  /** The agent went on without the results of these. */
  leave(tool: string): void {
    for (const [id, call] of this.#open) if (call.tool === tool) this.#background.add(id);
  }

  /** No other open call began after this one. */
  isNewest(id: string): boolean {
    return [...this.#open.keys()].at(-1) === id;
  }

  get(id: string): Call | undefined {
    return this.#open.get(id);
  }

  /** How many the agent waits for. */
  get inFlight(): number {
    return this.#open.size - this.#background.size;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }
}

const CALLS_MAX = 1_000;

/** The denials of a run: one per call, however often the stream speaks of it. */
export class Denials {
  readonly list: Denial[] = [];
  count = 0;
  readonly #ids = new Map<string, true>();

  /** Takes a denial; false if this call's is known already. */
  add(denial: Denial): boolean {
    const { call } = denial;
    if (call !== null) {
      if (this.#ids.has(call)) return false;
      this.#ids.set(call, true);
      if (this.#ids.size > DENIALS_MAX) this.#ids.delete(oldestOf(this.#ids) ?? call);
    }
    this.count++;
    if (this.list.length < DENIALS_MAX) this.list.push(denial);
    return true;
  }

  /** So many that the ids of the first ones are forgotten: a list of all, told again at the end, says nothing new. */
  get isBeyondMemory(): boolean {
    return this.count > DENIALS_MAX;
  }
}

const DENIALS_MAX = 1_000;

function oldestOf(map: ReadonlyMap<string, unknown>): string | undefined {
  return map.keys().next().value;
}
