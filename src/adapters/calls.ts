import type { Denial } from '../contracts/agent-step/reading.ts';

interface Call {
  readonly tool: string;
  readonly path: string | undefined;
}

/** The tool calls that have no result yet. An agent that begins calls and never ends them fills no memory: the oldest is forgotten. */
export class Calls {
  readonly #open = new Map<string, Call>();

  begin(id: string, call: Call): void {
    this.#open.set(id, call);
    if (this.#open.size > CALLS_MAX) forgetOldest(this.#open);
  }

  end(id: string): void {
    this.#open.delete(id);
  }

  get(id: string): Call | undefined {
    return this.#open.get(id);
  }

  get inFlight(): number {
    return this.#open.size;
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
      if (this.#ids.size > DENIALS_MAX) forgetOldest(this.#ids);
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

function forgetOldest(map: Map<string, unknown>): void {
  for (const id of map.keys()) {
    map.delete(id);
    return;
  }
}
