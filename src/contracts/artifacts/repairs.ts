import * as z from 'zod/mini';
import { record } from '../shape.ts';
import type { CaseArtifact } from './case-shape.ts';

/** The repairs of a lenient reading, in the order of their numbers. */
export const REPAIR_NAMES = ['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7', 'R8', 'R9', 'R10'] as const;

type RepairName = (typeof REPAIR_NAMES)[number];

const applied = () => z.optional(z.int().check(z.gte(1)));

const keys = Object.fromEntries(REPAIR_NAMES.map(name => [name, applied()])) as Record<
  RepairName,
  ReturnType<typeof applied>
>;

/** How often each repair was applied. A repair that was not applied is absent. */
export const repairSums = record(keys);

export type RepairSums = z.infer<typeof repairSums>;

export const REPAIRS_ASK =
  'repairs, if present, says how often each repair (R1 to R10) was applied, an integer, at least 1';

/** The repairs of the answer; undefined if there are none. An artifact may state unknown ones, which are left out. */
export function repairsOf({ attempts = [] }: Pick<CaseArtifact, 'attempts'>): RepairSums | undefined {
  const stated = attempts.at(-1)?.repairs;
  return stated && sumOfRepairs([stated]);
}

/** The sum by repair; undefined if none was applied. */
export function sumOfRepairs(
  all: Iterable<Readonly<Record<string, number | undefined>> | undefined>,
): RepairSums | undefined {
  const sums: RepairSums = {};
  for (const repairs of all) {
    if (!repairs) continue;
    for (const name of REPAIR_NAMES) {
      const count = Object.hasOwn(repairs, name) ? (repairs[name] ?? 0) : 0;
      if (count > 0) sums[name] = (sums[name] ?? 0) + count;
    }
  }
  return Object.keys(sums).length === 0 ? undefined : sums;
}

/** Such as "R6 × 12, R10 × 3". */
export function repairsText(repairs: RepairSums): string {
  return REPAIR_NAMES.flatMap(name => (repairs[name] === undefined ? [] : [`${name} × ${repairs[name]}`])).join(', ');
}

/** The repairs of a run in a sentence; undefined if there are none. */
export function repairedText(repairs: RepairSums | undefined): string | undefined {
  return repairs && `${repairsText(repairs)}: ${REPAIRED_WHY}`;
}

/** Continues after a list of repairs and a colon. */
export const REPAIRED_WHY = 'values that replies lack or name differently; see docs/targets.md';
