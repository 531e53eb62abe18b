import { canonicalize } from '../../base/canonical.ts';
import type { Effort } from './effort.ts';
import { valuesAt } from './json-path.ts';
import { validatorOf } from './json-schema.ts';
import { fails, holds, type Judge, OUTPUT } from './judgement.ts';
import { patternOf } from './patterns.ts';
import { quoting, saying } from './sentence.ts';

export const judgeJsonSchema: Judge<'json_schema'> = (schema, { json, effort }) => {
  const validate = validatorOf(schema, effort);
  if (!json.ok) return [fails(NOT_JSON, OUTPUT)];
  const fault = validate(json.value, effort);
  if (!fault) return [holds(OUTPUT)];
  const where = fault.place === '' ? 'The answer' : `In the answer, ${fault.place}`;
  return [fails(saying(`${where} ${fault.message}.`, 'The answer does not match the schema.'), OUTPUT)];
};

/** With `[*]`, a path selects many values; one match is enough. */
export const jsonPath: Judge<'json_path'> = function* (expected, { json, effort }) {
  for (const { path, ...asked } of expected) {
    const fits = fitting(asked, effort);
    if (!json.ok) {
      yield fails(NOT_JSON, OUTPUT);
      continue;
    }
    const values = valuesAt(path, json.value);
    if (asked.exists === false) {
      yield values.length === 0
        ? holds(OUTPUT)
        : fails(
            quoting(path, quoted => `The answer has a value at ${quoted}.`),
            OUTPUT,
          );
    } else if (values.some(fits)) yield holds(OUTPUT);
    else {
      const what = values.length === 0 ? 'nothing' : 'an unexpected value';
      yield fails(
        quoting(path, quoted => `The answer has ${what} at ${quoted}.`),
        OUTPUT,
      );
    }
  }
};

interface Asked {
  readonly exists?: boolean | undefined;
  readonly equals?: unknown;
  readonly regex?: string | undefined;
}

/** Tests a value at a path. */
function fitting({ exists, regex, equals }: Asked, effort: Effort): (value: unknown) => boolean {
  if (exists !== undefined) return () => true;
  if (regex !== undefined) {
    const pattern = patternOf(regex, effort);
    return value => pattern.test(typeof value === 'string' ? value : canonicalize(value), effort);
  }
  const wanted = canonicalize(equals);
  return value => canonicalize(value) === wanted;
}

const NOT_JSON = 'The answer is not JSON.';
