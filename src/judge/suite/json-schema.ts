import type { CodeKeywordDefinition, ErrorObject } from 'ajv/dist/ajv.js';
import { canonicalize } from '../../base/canonical.ts';
import { placeOf } from '../../base/place.ts';
import { ajvLibrary } from '../../run/suite/libraries.ts';
import { type Dialect, dialectOf, grammarFault } from '../../run/suite/schema-dialect.ts';
import { type Effort, TooMuchHere } from './effort.ts';
import { BoundedCache } from './bounded-cache.ts';
import { patternOf } from './patterns.ts';
import { isEndless } from './schema-cycles.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** The first violation of a JSON Schema, as words that follow a location; undefined if there is none. */
export type Validate = (
  value: unknown,
  effort: Effort,
) => { readonly place: string; readonly message: string } | undefined;

/** A compiled JSON Schema (2020-12 or draft-07). Throws `Unjudgeable` if the schema is unusable. */
export function validatorOf(schema: Record<string, unknown>, effort: Effort): Validate {
  let isNew = false;
  const { validate, steps } = validators.get(canonicalize(schema), () => {
    isNew = true;
    return compiled(schema, effort);
  });
  // Charges the cost of compiling even for a cached schema, because a verdict must not depend on earlier judgements.
  if (!isNew) effort.take(steps);
  return validate;
}

interface Compiled {
  readonly validate: Validate;
  /** The cost of compiling its patterns. */
  readonly steps: number;
}

/** Room for about 200 typical schemas; the memory of their patterns grows with their steps. */
const validators = new BoundedCache<Compiled>(20_000_000, ({ steps }) => Math.max(steps, 100_000));

function compiled(schema: Record<string, unknown>, effort: Effort): Compiled {
  const dialect = dialectOf(schema);
  if (!dialect) {
    throw new Unjudgeable('The schema uses a version of JSON Schema other than 2020-12 or draft-07.');
  }
  // `$async` makes the validator return a promise, which is always truthy.
  if (schema['$async']) throw new Unjudgeable('The schema is asynchronous ($async), which Proctor does not support.');
  if (grammarFault(schema, dialect) !== undefined) {
    throw new Unjudgeable(`The schema is not a valid JSON Schema (${dialect.name}).`);
  }
  if (isEndless(schema)) throw new Unjudgeable('The schema refers to itself endlessly.');
  try {
    // A separate instance per schema, because names in one schema must not resolve in another.
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
        : { place: '', message: 'does not match the schema' };
    };
    return { validate: judge, steps: patterns.compiling };
  } catch (error) {
    // A pattern's own message is more specific.
    if (error instanceof Unjudgeable || error instanceof TooMuchHere) throw error;
    throw new Unjudgeable('The schema refers to something that does not exist.');
  }
}

/** A long enough chain of references exhausts the stack. */
function fits(validate: (value: unknown) => unknown, value: unknown): boolean {
  try {
    return validate(value) === true;
  } catch (error) {
    if (error instanceof RangeError) throw new Unjudgeable(TOO_MANY_STEPS);
    throw error;
  }
}

const TOO_MANY_STEPS = 'Checking this answer against the schema takes too many steps.';

/**
 * Counts followed references. A schema that refers to itself in several branches takes exponential time in the depth
 * of the answer, which the agent controls.
 */
class Steps {
  taken = 0;

  readonly take = (): void => {
    if (++this.taken > STEPS_MAX) throw new Unjudgeable(TOO_MANY_STEPS);
  };
}

const STEPS_MAX = 1_000_000;

/** The patterns of a schema. ajv calls them without context. */
class Patterns {
  /** The effort of the current judgement. */
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

/** An ajv whose validators take time linear in the answer and handle keys such as `valueOf`. */
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
  const { _ } = ajvLibrary();
  for (const keyword of ['$ref', '$dynamicRef']) {
    // Each instance has its own copy, so changing this one affects no other.
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
    error: { message: 'must not contain duplicates' },
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
  return `${message ?? `violates ${keyword}`}${key}`;
}

/** Turns `/items/0/price` into `items[0].price`, guided by the value. */
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
