import type { Call, Tongue } from './output-format.ts';

/** How an action can change the way the program ends. */
export interface Scene {
  readonly tongue: Tongue;
  finalText: string;
  atEnd: () => void;
  /** Runs after the last lines. */
  afterwards: () => void;
}

export type Deed = (scene: Scene, argument: string | undefined) => void | Promise<void>;

let count = 0;

/** Uses a tool and reports it. */
export function uses(tongue: Tongue, tool: Call['tool'], what: string, act: () => string): void {
  const call = callOf(tool, what);
  tongue.calls(call);
  tongue.returned(call, act(), 0);
}

export function callOf(tool: Call['tool'], what: string): Call {
  return { id: `call_${++count}`, tool, what };
}
