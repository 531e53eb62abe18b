import path from 'node:path';
import * as z from 'zod/mini';
import { readRegular } from '../base/regular.ts';
import { formOf } from '../contracts/form.ts';
import { count, record } from '../contracts/shape.ts';
import { PARTS } from './left.ts';

/** What went through the door to the model while Proctor was alive. */
export interface DoorCount {
  readonly requests: number;
  readonly failures: number;
  /** In a replay, the first request that was not as recorded. */
  readonly difference: string | null;
}

/** Undefined where nothing was counted. */
export function doorCountIn(folder: string): DoorCount | undefined {
  const text = readRegular(path.join(folder, PARTS.door), COUNT_BYTES_MAX)?.toString();
  try {
    const value: unknown = JSON.parse(text ?? 'null');
    for (const _ of formOf(countShape).faults(value, '')) return undefined;
    return value as DoorCount;
  } catch {
    return undefined;
  }
}

const COUNT_BYTES_MAX = 64 * 1024;
const countShape = record({ requests: count(), failures: count(), difference: z.nullable(z.string()) });
