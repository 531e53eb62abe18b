import path from 'node:path';
import * as z from 'zod/mini';
import { readRegular } from '../../base/regular.ts';
import type { Changes } from '../../contracts/agent-step/changes.ts';
import type { PolicyViolation } from '../../contracts/agent-step/policy-summary.ts';
import { count, record } from '../../contracts/shape.ts';
import { PARTS } from '../recovery/recovery-parts.ts';
import { hasShape } from '../document.ts';

/** What the launcher found in the agent's work tree after Proctor had died. Secrets are masked. */
export interface KeptTree {
  readonly changes: Changes;
  /** Policy violations found in the tree. */
  readonly breaches: readonly PolicyViolation[];
  /** Warnings about the clone. The user has already seen them. */
  readonly notes: readonly string[];
  /** The diff contains a declared secret. */
  readonly holdsSecret: boolean;
}

/** Undefined if the tree was not saved completely. */
export function keptTreeIn(folder: string): KeptTree | undefined {
  const bytes = readRegular(path.join(folder, PARTS.workspace), KEPT_BYTES_MAX);
  if (!bytes) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return hasShape(value, keptShape) ? (value as KeptTree) : undefined;
  } catch {
    return undefined;
  }
}

export const KEPT_BYTES_MAX = 128 * 1024 * 1024;

/** The fields used before the resulting documents are validated. */
const keptShape = record({
  changes: record({ diff: record({ sha256: z.string(), bytes: count() }) }),
  breaches: z.array(record({ class: z.string(), message: z.string(), hard: z.boolean() })),
  notes: z.array(z.string()),
  holdsSecret: z.boolean(),
});
