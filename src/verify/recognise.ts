import { catalogue } from '../contracts/catalogue.ts';

export type Recognition = { readonly name: string } | { readonly code: string; readonly message: string };

/** Which contract a value is meant to keep: by its own version field, else by the name of its file. */
export function recognise(value: unknown, fileName?: string): Recognition {
  const byPlace = fileName === undefined ? undefined : namesByPlace.get(fileName);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const fields = versionFields.filter(field => Object.hasOwn(value, field));
    if (fields.length > 1) {
      return {
        code: 'ambiguous',
        message: `The document has ${fields.join(' and ')} and so claims two formats; --as NAME decides.`,
      };
    }
    const [field] = fields;
    if (field !== undefined) {
      const names = entriesByField.get(field) ?? [];
      const said = (value as Record<string, unknown>)[field];
      const name = names.find(name => catalogue[name]?.value === said) ?? (names.length === 1 ? names[0] : byPlace);
      if (name) return { name };
      return {
        code: 'unknown_format',
        message: `No contract here knows the ${field} of this document. proctor schema lists those that do.`,
      };
    }
  }
  if (byPlace) return { name: byPlace };
  return {
    code: 'unknown_format',
    message: 'No contract knows this document: it has no version field. --as NAME says what it is meant to be.',
  };
}

const entriesByField = new Map<string, string[]>();
const namesByPlace = new Map<string, string>();
for (const [name, { field, places = [] }] of Object.entries(catalogue)) {
  if (field) entriesByField.set(field, [...(entriesByField.get(field) ?? []), name]);
  for (const place of places) namesByPlace.set(place, name);
}
const versionFields = [...entriesByField.keys()];
