import { RE2JS } from 're2js';
import { PATTERN_SIZE_MAX, patternSize } from '../../base/pattern-size.ts';
import type { Effort } from './effort.ts';
import { BoundedCache } from './bounded-cache.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** A pattern that takes time linear in the text. */
export interface Pattern {
  test(text: string, effort: Effort): boolean;
  /** The number of its instructions. */
  readonly size: number;
  /** The cost of compiling it, in steps. */
  readonly compiling: number;
}

/**
 * Compiles an expectation's pattern. Throws `Unjudgeable` if the syntax is unsupported or the pattern too large.
 * A cached pattern costs the same steps, because a verdict must not depend on earlier judgements.
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
    throw new Unjudgeable('The pattern is invalid: it must use RE2 syntax, without lookaround and backreferences.');
  }
}

const LENGTH_MAX = 10_000;

/** Compiling one instruction takes as long as this many steps. */
const COMPILING_STEPS = 100;

/** Room for about a thousand typical patterns. Large ones take megabytes each. */
const patterns = new BoundedCache<Pattern>(200_000, ({ size }) => Math.max(size, 200));
