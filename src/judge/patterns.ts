import { RE2JS } from 're2js';
import { Kept } from './kept.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** A pattern that takes time in proportion to the text, whoever wrote either. */
export interface Pattern {
  test(text: string): boolean;
}

/** The pattern of an expectation. Throws `Unjudgeable` for one that this syntax does not have. */
export function patternOf(source: string): Pattern {
  return patterns.get(source, () => {
    try {
      return RE2JS.compile(source);
    } catch {
      throw new Unjudgeable('The pattern cannot be read: it must be one of RE2, without look-around and references.');
    }
  });
}

const patterns = new Kept<Pattern>(1_000);
