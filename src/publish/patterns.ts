import { createRequire } from 'node:module';
import type * as re2 from 're2js';
import { PATTERN_SIZE_MAX, patternSize } from '../base/pattern-size.ts';
import type { PublishedScript } from '../contracts/published-script/index.ts';

// Few scripts have a pattern, so load the library on demand.
const load = createRequire(import.meta.url);

const PATTERN_LENGTH_MAX = 1_000;

/** Patterns that cannot be matched in linear time, with their place in script.yaml. */
export function* patternFaults({ inputs = [] }: PublishedScript): Generator<{ path: string; message: string }> {
  for (const [index, input] of inputs.entries()) {
    if (input.kind !== 'text' || input.pattern === undefined) continue;
    const at = `inputs[${index}].pattern`;
    const why = patternTrouble(input.pattern);
    if (why !== undefined) yield { path: at, message: `${at} ${why}.` };
    else if (input.default !== undefined && !matchesWhole(input.pattern, input.default))
      yield { path: `inputs[${index}].default`, message: `inputs[${index}].default does not match the pattern.` };
  }
}

/** Whether a pattern matches a whole text, in time linear in the text. */
export function matchesWhole(pattern: string, text: string): boolean {
  return compiled(pattern).matches(text);
}

function patternTrouble(pattern: string): string | undefined {
  if (pattern.length > PATTERN_LENGTH_MAX) return `is longer than ${PATTERN_LENGTH_MAX} characters`;
  if (patternSize(pattern) > PATTERN_SIZE_MAX) return 'is too large; use smaller counts';
  try {
    compiled(pattern);
    return undefined;
  } catch {
    return 'is not valid RE2; lookaround and backreferences are not supported';
  }
}

function compiled(pattern: string): re2.RE2JS {
  const { RE2JS } = load('re2js') as typeof re2;
  return RE2JS.compile(pattern);
}
