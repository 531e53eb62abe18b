import path from 'node:path';
import { readRegular } from '../base/regular.ts';
import { formOf } from '../contracts/form.ts';
import { type DoorCount as Counted, doorCountShape } from '../contracts/agent-step/model-access.ts';
import { PARTS } from './left.ts';

/** What went through the door to the model while Proctor was alive. */
export interface DoorCount extends Counted {
  /** In a replay, the first request that was not as recorded. */
  readonly difference: string | null;
}

/** Undefined where nothing was counted. */
export function doorCountIn(folder: string): DoorCount | undefined {
  const text = readRegular(path.join(folder, PARTS.door), COUNT_BYTES_MAX)?.toString();
  try {
    const value: unknown = JSON.parse(text ?? 'null');
    for (const _ of formOf(doorCountShape).faults(value, '')) return undefined;
    return value as DoorCount;
  } catch {
    return undefined;
  }
}

const COUNT_BYTES_MAX = 64 * 1024;
