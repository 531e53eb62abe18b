import type { Call, Tongue } from './tongue.ts';

/** What a deed may change about how the program ends. */
export interface Scene {
  readonly tongue: Tongue;
  finalText: string;
  /** The last lines. */
  atEnd: () => void;
  /** What is done once they are out. */
  afterwards: () => void;
}

export type Deed = (scene: Scene, argument: string | undefined) => void | Promise<void>;

let count = 0;

/** Uses a tool, and tells of it. */
export function uses(tongue: Tongue, tool: Call['tool'], what: string, act: () => string): void {
  const call = callOf(tool, what);
  tongue.calls(call);
  tongue.returned(call, act(), 0);
}

export function callOf(tool: Call['tool'], what: string): Call {
  return { id: `call_${++count}`, tool, what };
}
