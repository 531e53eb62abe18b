import * as z from 'zod/mini';
import { checkName } from '../check-result/shape.ts';
import { firstRepeated } from '../lists.ts';
import { type Finding, must } from '../rule.ts';
import { filledText, matching, record, relativePath, wordyText } from '../shape.ts';

export const CHECKS_MAX = 20;

export const CHECK_TIME = /^\d{1,9}(?:ms|s|m)$/;
export const CHECK_MEMORY = /^\d{1,12}(?:[kmg](?:i?b)?)?$/i;

/** A command that runs in the tree that an agent leaves, as people write it. */
export const checkShape = record({
  name: z.optional(checkName()),
  command: wordyText(),
  timeout: z.optional(matching(CHECK_TIME, 'a time such as 30s or 5m')),
  memory: z.optional(matching(CHECK_MEMORY, 'a size such as 512m or 2g')),
  pids: z.optional(z.int().check(z.gte(1), z.lte(100_000))),
  /** A folder with files that the agent never sees, relative to the file that names it. */
  overlay: z.optional(filledText()),
  paths: z.optional(z.array(relativePath()).check(z.minLength(1), z.maxLength(100))),
  report: z.optional(relativePath()),
  /** Files that the task may change although Proctor would put them back. `*`, `?` and `**` match names. */
  keep: z.optional(z.array(relativePath()).check(z.minLength(1), z.maxLength(100))),
});

export type WrittenCheck = z.infer<typeof checkShape>;

/** The name under which the evidence of a check is stored; `index` is its position in its list. */
export function nameOfCheck({ name }: Pick<WrittenCheck, 'name'>, index: number): string {
  return name ?? `check-${index + 1}`;
}

export function* checkListFindings(checks: readonly WrittenCheck[], at: string): Generator<Finding> {
  const repeated = firstRepeated(checks.map(nameOfCheck));
  if (repeated !== undefined) yield must(`${at}[${repeated}].name`, 'is a duplicate');
}
