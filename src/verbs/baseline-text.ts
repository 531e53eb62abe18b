import { canonicalize } from '../base/canonical.ts';
import type { Baseline } from '../contracts/baseline/index.ts';

/**
 * The text of an accepted baseline: one line per trial, so that a diff shows what changed. Without line breaks and
 * indentation it is canonical JSON, so that a shell can compute its digest.
 */
export function baselineText(baseline: Baseline): string {
  return `${linesOf(baseline, 0)}\n`;
}

/** Values at this depth stay on one line, so that each trial takes one line. */
const DEPTH_MAX = 4;

function linesOf(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null || depth === DEPTH_MAX) return canonicalize(value);
  const indent = '  '.repeat(depth + 1);
  const isList = Array.isArray(value);
  const members = isList
    ? value.map(one => `${indent}${linesOf(one, depth + 1)}`)
    : Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, one]) => `${indent}${JSON.stringify(key)}:${linesOf(one, depth + 1)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (members.length === 0) return `${open}${close}`;
  return `${open}\n${members.join(',\n')}\n${'  '.repeat(depth)}${close}`;
}
