import { catalogue } from '../contracts/catalogue.ts';
import { kindOf } from '../contracts/kind.ts';

export type Recognition = { readonly name: string } | { readonly code: string; readonly message: string };

/** Finds the contract of a value: by its version field, else by its file name. */
export function recognise(value: unknown, fileName?: string): Recognition {
  const byFileName = fileName === undefined ? undefined : formatOf(fileName);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    if (byFileName) return { name: byFileName };
    return unknown(`The document is ${kindOf(value)}, but every known format is an object.`);
  }
  const record = value as Record<string, unknown>;
  const fields = versionFields.filter(field => Object.hasOwn(record, field));
  if (fields.length === 1) {
    // Fast path: almost every document has exactly one known version field.
    const name = namesByVersion.get(fields[0] as string)?.get(record[fields[0] as string]);
    if (name !== undefined) return { name };
  }
  const known = fields.flatMap(field => namesByVersion.get(field)?.get(record[field]) ?? []);
  const [first, second] = known.length > 0 ? known : fields.flatMap(field => onlyFormatWith(field, record));
  if (second !== undefined) {
    return {
      code: 'ambiguous',
      message: `The document claims two formats, with ${fields.join(' and ')}. Choose one with --as NAME.`,
    };
  }
  const name = first ?? byFileName;
  if (name !== undefined) return { name };
  if (fields.length > 0) {
    return {
      code: 'unknown_version',
      message: `No known format has the ${fields.join(' or ')} of this document. Run proctor explain for a list of formats.`,
    };
  }
  const message = 'The document has no version field, so its format is unknown. Choose one with --as NAME.';
  return fileName !== undefined && OURS.test(fileName) ? { code: 'unknown_version', message } : unknown(message);
}

/** A field that only one format has identifies the format, whatever its value. */
function onlyFormatWith(field: string, record: Record<string, unknown>): readonly string[] {
  const [name, other] = entriesByField.get(field) ?? [];
  if (name === undefined || other !== undefined) return [];
  const alsoHas = catalogue[name]?.alsoHas;
  return alsoHas === undefined || Object.hasOwn(record, alsoHas) ? [name] : [];
}

/** Names of evidence files. A file with such a name must state its format. */
const OURS = /^(?:run|result|manifest|request|outcome|seal)\.json$/;

export function formatOf(fileName: string): string | undefined {
  return namesByFileName.get(fileName);
}

function unknown(message: string): Recognition {
  return { code: 'unknown_format', message };
}

const entriesByField = new Map<string, string[]>();
const namesByVersion = new Map<string, Map<unknown, string>>();
const namesByFileName = new Map<string, string>();
for (const [name, { field, value, fileNames = [] }] of Object.entries(catalogue)) {
  if (field) {
    entriesByField.set(field, [...(entriesByField.get(field) ?? []), name]);
    namesByVersion.set(field, (namesByVersion.get(field) ?? new Map<unknown, string>()).set(value, name));
  }
  for (const fileName of fileNames) namesByFileName.set(fileName, name);
}
const versionFields = [...entriesByField.keys()];
