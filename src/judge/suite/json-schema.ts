import { type CodeKeywordDefinition, type ErrorObject, _ } from 'ajv/dist/ajv.js';
import { canonicalize } from '../../base/canonical.ts';
import { placeOf } from '../../base/place.ts';
import { type Dialect, dialectOf, grammarFault } from '../../run/suite/schema-dialect.ts';
import { type Effort, TooMuchHere } from './effort.ts';
import { BoundedCache } from './kept.ts';
import { patternOf } from './patterns.ts';
import { isEndless } from './schema-cycles.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** What is wrong with a value by a JSON Schema, in words that follow a place; undefined if nothing is. */
export type Validate = (
  value: unknown,
  effort: Effort,
) => { readonly place: string; readonly message: string } | undefined;

/** A JSON Schema (2020-12 or draft-07), made ready once. Throws `Unjudgeable` for one that cannot be judged by. */
export function validatorOf(schema: Record<string, unknown>, effort: Effort): Validate {
  let isNew = false;
  const { validate, steps } = validators.get(canonicalize(schema), () => {
    isNew = true;
    return compiled(schema, effort);
  });
  // As many as when it was compiled: a verdict must not depend on what was judged earlier.
  if (!isNew) effort.take(steps);
  return validate;
}

interface Compiled {
  readonly validate: Validate;
  /** What it took to make its patterns ready. */
  readonly steps: number;
}

/** 200 of the usual ones: what the patterns of a schema hold grows with their steps. */
const validators = new BoundedCache<Compiled>(20_000_000, ({ steps }) => Math.max(steps, 100_000));

function compiled(schema: Record<string, unknown>, effort: Effort): Compiled {
  const dialect = dialectOf(schema);
  if (!dialect) {
    throw new Unjudgeable('The schema is written for another version of JSON Schema than 2020-12 or draft-07.');
  }
  // It would make a promise of every answer, and a promise is always true.
  if (schema['$async']) throw new Unjudgeable('The schema asks for what cannot be judged at once.');
  if (grammarFault(schema, dialect) !== undefined) {
    throw new Unjudgeable(`The schema is no JSON Schema of ${dialect.name}.`);
  }
  if (isEndless(schema)) throw new Unjudgeable('The schema refers to itself without an end.');
  try {
    // An instance of its own: names in one schema must mean nothing in another.
    const steps = new Steps();
    const patterns = new Patterns(effort);
    const validate = ownAjv(dialect, steps, patterns).compile(schema);
    const judge: Validate = (value, toJudge) => {
      steps.taken = 0;
      patterns.effort = toJudge;
      if (fits(validate, value)) return undefined;
      const [error] = validate.errors ?? [];
      return error
        ? { place: placeIn(value, error.instancePath), message: messageOf(error) }
        : { place: '', message: 'breaks the schema' };
    };
    return { validate: judge, steps: patterns.compiling };
  } catch (error) {
    // A pattern in it says more than we could.
    if (error instanceof Unjudgeable || error instanceof TooMuchHere) throw error;
    throw new Unjudgeable('The schema refers to what is not in it, or asks for what does not exist.');
  }
}

/** A schema that goes on by references for long enough takes all of the stack. */
function fits(validate: (value: unknown) => unknown, value: unknown): boolean {
  try {
    return validate(value) === true;
  } catch (error) {
    if (error instanceof RangeError) throw new Unjudgeable(TOO_MANY_STEPS);
    throw error;
  }
}

const TOO_MANY_STEPS = 'The schema takes too many steps to judge this answer.';

/**
 * How often a schema went on by a reference. One that offers several ways and refers to itself in each takes time that
 * doubles with every level of the answer, and an agent decides how many levels there are.
 */
class Steps {
  taken = 0;

  readonly take = (): void => {
    if (++this.taken > STEPS_MAX) throw new Unjudgeable(TOO_MANY_STEPS);
  };
}

const STEPS_MAX = 1_000_000;

/** The patterns of a schema, which ajv calls without saying for whom. */
class Patterns {
  /** Of whoever judges by the schema now. */
  effort: Effort;
  compiling = 0;

  constructor(effort: Effort) {
    this.effort = effort;
  }

  of(source: string): { test(text: string): boolean } {
    const pattern = patternOf(source, this.effort);
    this.compiling += pattern.compiling;
    return { test: text => pattern.test(text, this.effort) };
  }
}

/** Nothing in it takes more than time in proportion to the answer, or trips over a key such as `valueOf`. */
function ownAjv(dialect: Dialect, { take }: Steps, patterns: Patterns): ReturnType<Dialect['ajv']> {
  const regExp = Object.assign((pattern: string) => patterns.of(pattern), { code: 'patternOf' });
  const ajv = dialect.ajv({
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false,
    ownProperties: true,
    code: { regExp },
  });
  for (const keyword of ['$ref', '$dynamicRef']) {
    // A copy that belongs to this instance.
    const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition | false;
    if (definition === false) continue;
    const { code } = definition;
    definition.code = (context, ruleType) => {
      const { gen } = context;
      gen.code(_`${gen.scopeValue('func', { ref: take })}()`);
      code(context, ruleType);
    };
  }
  for (const keyword of ['const', 'enum', 'uniqueItems']) ajv.removeKeyword(keyword);
  ajv.addKeyword({ keyword: 'const', compile: (wanted: unknown) => among([wanted]), error: { message: NOT_CONST } });
  ajv.addKeyword({ keyword: 'enum', schemaType: 'array', compile: among, error: { message: NOT_ENUM } });
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isAsked: boolean, list: readonly unknown[]) =>
      !isAsked || new Set(list.map(entry => canonicalize(entry))).size === list.length,
    error: { message: 'must not hold anything twice' },
  });
  return ajv;
}

const NOT_CONST = 'must be the one value that the schema allows';
const NOT_ENUM = 'must be one of the values that the schema allows';

function among(wanted: readonly unknown[]): (value: unknown) => boolean {
  const texts = new Set(wanted.map(value => canonicalize(value)));
  return value => texts.has(canonicalize(value));
}

function messageOf({ keyword, message, params }: ErrorObject): string {
  const name: unknown = params['additionalProperty'] ?? params['unevaluatedProperty'];
  const key = typeof name === 'string' ? ` (${placeOf('', name)})` : '';
  return `${message ?? `breaks ${keyword}`}${key}`;
}

/** `/items/0/price` as `items[0].price`, by the value that it leads through. */
function placeIn(value: unknown, pointer: string): string {
  let place = '';
  let here: unknown = value;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    place = placeOf(place, Array.isArray(here) ? Number(key) : key);
    here = typeof here === 'object' && here !== null ? (here as Record<string, unknown>)[key] : undefined;
  }
  return place;
}
