import path from 'node:path';
import * as z from 'zod/mini';
import { readRegular } from '../base/regular.ts';
import type { Changes } from '../contracts/agent-step/changes.ts';
import type { Violation } from '../contracts/agent-step/policy-summary.ts';
import { formOf } from '../contracts/form.ts';
import { count, record } from '../contracts/shape.ts';
import { PARTS } from './left.ts';

/** What the launcher found in the work tree of an agent whose Proctor had died. Secrets in it are masked. */
export interface KeptTree {
  readonly changes: Changes;
  /** What in it breaks the policy. */
  readonly breaches: readonly Violation[];
  /** What the user was told about the clone. */
  readonly notes: readonly string[];
  /** The diff holds the value of a declared secret. */
  readonly holdsSecret: boolean;
}

/** Undefined where nothing was saved, or not all of it. */
export function keptTreeIn(folder: string): KeptTree | undefined {
  const bytes = readRegular(path.join(folder, PARTS.workspace), KEPT_BYTES_MAX);
  if (!bytes) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    for (const _ of formOf(keptShape).faults(value, '')) return undefined;
    return value as KeptTree;
  } catch {
    return undefined;
  }
}

export const KEPT_BYTES_MAX = 128 * 1024 * 1024;

/** As much as is used before the documents that it leads to are judged themselves. */
const keptShape = record({
  changes: record({ diff: record({ sha256: z.string(), bytes: count() }) }),
  breaches: z.array(record({ class: z.string(), message: z.string(), hard: z.boolean() })),
  notes: z.array(z.string()),
  holdsSecret: z.boolean(),
});
