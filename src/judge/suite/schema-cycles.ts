type Schema = Readonly<Record<string, unknown>>;

/**
 * Whether a schema leads back to itself through references alone, as `{"$ref":"#"}` does. Validation would never end,
 * because no step looks deeper into the value. Leaves schemas with embedded resources (`$id` inside) to the validator.
 */
export function isEndless(root: Schema): boolean {
  const { schemas, anchors, hasResources } = survey(root);
  if (hasResources) return false;
  const done = new Set<Schema>();
  const open = new Set<Schema>();
  const leadsBack = (schema: Schema): boolean => {
    if (done.has(schema)) return false;
    if (open.has(schema) || open.size >= WAY_MAX) return true;
    open.add(schema);
    const isBack = judgedWith(schema, ref => resolved(ref, root, anchors)).some(leadsBack);
    open.delete(schema);
    done.add(schema);
    return isBack;
  };
  return schemas.some(leadsBack);
}

/** The limit on consecutive references; no hand-written schema has that many. */
const WAY_MAX = 1_000;

/** The schemas that apply to the same value as this one. */
function judgedWith(schema: Schema, resolve: (ref: string) => unknown): Schema[] {
  const { allOf, anyOf, oneOf, not, if: condition, then, else: otherwise, dependentSchemas } = schema;
  const targets = [schema['$ref'], schema['$dynamicRef']].map(ref => (typeof ref === 'string' ? resolve(ref) : ref));
  const lists = [allOf, anyOf, oneOf].flatMap(list => (Array.isArray(list) ? (list as unknown[]) : []));
  const named = isSchema(dependentSchemas) ? Object.values(dependentSchemas) : [];
  return [...targets, ...lists, not, condition, then, otherwise, ...named].filter(isSchema);
}

/** The target of a reference within the document: `#`, `#/$defs/a` or `#name`. */
function resolved(ref: string, root: Schema, anchors: ReadonlyMap<string, Schema>): unknown {
  const own = root['$id'];
  const local = typeof own === 'string' && ref.startsWith(own) ? ref.slice(own.length) || '#' : ref;
  if (!local.startsWith('#')) return undefined;
  if (!local.startsWith('#/')) return local === '#' ? root : anchors.get(local.slice(1));
  let here: unknown = root;
  for (const part of local.slice(2).split('/')) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    here = typeof here === 'object' && here !== null ? (here as Record<string, unknown>)[key] : undefined;
  }
  return here;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Every object in a schema, except inside plain values such as `const` and `enum`. */
function survey(root: Schema) {
  const schemas: Schema[] = [];
  const anchors = new Map<string, Schema>();
  let hasResources = false;
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const entry of value as unknown[]) look(entry);
    if (!isSchema(value)) return;
    schemas.push(value);
    if (value !== root && typeof value['$id'] === 'string') hasResources = true;
    for (const name of [value['$anchor'], value['$dynamicAnchor']])
      if (typeof name === 'string') anchors.set(name, value);
    for (const [key, member] of Object.entries(value)) if (!VALUES.has(key)) look(member);
  };
  look(root);
  return { schemas, anchors, hasResources };
}

const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
