import { RE2JS } from 're2js';
import { PATTERN_SIZE_MAX, patternSize } from '../../base/pattern-size.ts';
import type { Effort } from './effort.ts';
import { BoundedCache } from './kept.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** A pattern that takes time in proportion to the text, whoever wrote either. */
export interface Pattern {
  test(text: string, effort: Effort): boolean;
  /** How many instructions it has. */
  readonly size: number;
  /** The steps that it took to make it ready. */
  readonly compiling: number;
}

/**
 * The pattern of an expectation. Throws `Unjudgeable` for one that this syntax does not have, or that is too large. Making
 * one ready takes steps, also if it is kept from before: a verdict must not depend on what was judged earlier.
 */
export function patternOf(source: string, effort: Effort): Pattern {
  const pattern = patterns.get(source, () => compiled(source));
  effort.take(pattern.compiling);
  return pattern;
}

function compiled(source: string): Pattern {
  const sizeMax = source.length > LENGTH_MAX ? Number.POSITIVE_INFINITY : patternSize(source);
  if (sizeMax > PATTERN_SIZE_MAX) throw new Unjudgeable('The pattern is too large. Use smaller counts, or split it.');
  try {
    const pattern = RE2JS.compile(source);
    const size = pattern.programSize();
    return {
      test(text, effort) {
        effort.take(size * (text.length + 1));
        return pattern.test(text);
      },
      size,
      compiling: sizeMax * COMPILING_STEPS,
    };
  } catch {
    throw new Unjudgeable('The pattern cannot be read: it must be one of RE2, without look-around and references.');
  }
}

const LENGTH_MAX = 10_000;

/** To compile an instruction takes as long as this many steps. */
const COMPILING_STEPS = 100;

/** A thousand of the usual ones. Large ones hold megabytes each. */
const patterns = new BoundedCache<Pattern>(200_000, ({ size }) => Math.max(size, 200));
