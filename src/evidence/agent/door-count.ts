import path from 'node:path';
import { readRegular } from '../../base/regular.ts';
import { type DoorCount as Counted, doorCountShape } from '../../contracts/agent-step/model-access.ts';
import { PARTS } from '../recovery/recovery-parts.ts';
import { hasShape } from '../document.ts';

/** Model requests and tokens that were counted until Proctor exited. */
export interface RecoveredDoorCount extends Counted {
  /** In a replay, the first request that differs from the recording. */
  readonly difference: string | null;
}

/** Undefined if nothing was counted. */
export function doorCountIn(folder: string): RecoveredDoorCount | undefined {
  const text = readRegular(path.join(folder, PARTS.door), COUNT_BYTES_MAX)?.toString();
  try {
    const value: unknown = JSON.parse(text ?? 'null');
    return hasShape(value, doorCountShape) ? (value as RecoveredDoorCount) : undefined;
  } catch {
    return undefined;
  }
}

const COUNT_BYTES_MAX = 64 * 1024;
