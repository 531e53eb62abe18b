import { placeOf } from '../../base/place.ts';
import { compileTemplate, type Template, TemplateError, type TemplateOptions } from './template.ts';

/**
 * Compiles the words of a program, or throws a TemplateError. They cannot contain environment variables, because every
 * user of the machine can read them. `instead` is the key that can.
 */
export function compileWords(words: readonly string[], options: Required<WordOptions>, instead = 'env'): Template {
  const { allowed, place } = options;
  for (const [index, word] of words.entries()) {
    if (!VARIABLE.test(word)) continue;
    const why = "Every user of the machine can read a program's arguments.";
    throw new TemplateError(placeOf(place, index), `${why} Pass the variable through ${instead}.`);
  }
  return compileTemplate(words, { allowed, place });
}

type WordOptions = Pick<TemplateOptions, 'allowed' | 'place'>;

const VARIABLE = /(?<!\$)\$\{env:/;
