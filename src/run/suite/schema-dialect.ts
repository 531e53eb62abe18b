import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Ajv, Options } from 'ajv/dist/ajv.js';
import { ajv2020Library, ajvLibrary } from './libraries.ts';

/** A supported version of JSON Schema. */
export interface Dialect {
  readonly name: '2020-12' | 'draft-07';
  readonly ajv: (options: Options) => Ajv | Ajv2020;
}

/** The version that a schema declares; undefined if Proctor does not support it. */
export function dialectOf({ $schema }: Record<string, unknown>): Dialect | undefined {
  if ($schema === undefined) return DIALECTS.get(LATEST);
  return typeof $schema === 'string' ? DIALECTS.get($schema.replace(/#$/, '')) : undefined;
}

const LATEST = 'https://json-schema.org/draft/2020-12/schema';

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  [LATEST, { name: '2020-12', ajv: options => new (ajv2020Library().Ajv2020)(options) }],
  [
    'http://json-schema.org/draft-07/schema',
    {
      name: 'draft-07',
      // draft-07 ignores keywords next to $ref.
      ajv: options => new (ajvLibrary().Ajv)({ ...options, ignoreKeywordsWithRef: true }),
    },
  ],
]);

/** Returns where a schema violates its meta-schema, or undefined. */
export function grammarFault(schema: Record<string, unknown>, dialect: Dialect): string | undefined {
  let grammar = grammars.get(dialect.name);
  if (!grammar) {
    grammar = dialect.ajv({ strict: false, logger: false });
    grammars.set(dialect.name, grammar);
  }
  if (grammar.validateSchema(schema) === true) return undefined;
  return grammar.errorsText(grammar.errors, { dataVar: '$' });
}

/** Created on first use, because compiling a meta-schema takes longer than judging many cases. */
const grammars = new Map<Dialect['name'], Ajv | Ajv2020>();
