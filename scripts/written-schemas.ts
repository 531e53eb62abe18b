import type { Contract } from '../src/contracts/contract.ts';
import { jsonSchema } from '../src/contracts/json-schema.ts';

/**
 * The files in schemas/ by name: JSON Schemas that editors use for the files that people write. Proctor rejects unknown
 * keys in these files, so the schemas do too.
 */
export function writtenSchemas(contracts: readonly Contract[]): ReadonlyMap<string, string> {
  const schemas = new Map<string, string>();
  for (const [file, name] of Object.entries(WRITTEN)) {
    const contract = contracts.find(each => each.name === name);
    if (!contract) continue;
    const schema = closed(jsonSchema(contract)) as Schema;
    schemas.set(`${file}.json`, `${JSON.stringify(file === 'cases' ? asPeopleWrite(schema) : schema, null, 2)}\n`);
  }
  return schemas;
}

/** The contract of each file. */
const WRITTEN = {
  project: 'project',
  target: 'target',
  cases: 'cases',
  gate: 'gate',
  policy: 'agent-policy',
  profile: 'profile',
  prices: 'model-prices',
  intent: 'intent',
  script: 'published-script',
} as const;

type Schema = Readonly<Record<string, unknown>>;

/** Forbids further keys in every object whose keys are listed. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const inner = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, closed(value)]));
  const isListed = inner['type'] === 'object' && typeof inner['properties'] === 'object';
  return isListed && !('additionalProperties' in inner) ? { ...inner, additionalProperties: false } : inner;
}

/** A file of cases may be a bare list, its version is optional, and YAML reads some ids as numbers. */
function asPeopleWrite({ $schema, title, description, ...document }: Schema): Schema {
  const { cases, ...others } = document['properties'] as { readonly cases: Schema };
  const { properties, ...item } = cases['items'] as { readonly properties: Readonly<Record<string, unknown>> };
  const id = { anyOf: [properties['id'], { type: 'integer', minimum: 0 }] };
  const list = { ...cases, items: { ...item, properties: { ...properties, id } } };
  return {
    $schema,
    title,
    description,
    anyOf: [
      { ...document, properties: { ...others, cases: { $ref: '#/$defs/cases' } }, required: ['cases'] },
      { $ref: '#/$defs/cases' },
    ],
    $defs: { cases: list },
  };
}
