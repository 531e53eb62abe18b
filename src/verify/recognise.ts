import { catalogue } from '../contracts/catalogue.ts';
import { kindOf } from '../contracts/faults.ts';

export type Recognition = { readonly name: string } | { readonly code: string; readonly message: string };

/** Which contract a value is meant to keep: by its own version field, else by the name of its file. */
export function recognise(value: unknown, fileName?: string): Recognition {
  const byPlace = fileName === undefined ? undefined : namesByPlace.get(fileName);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    if (byPlace) return { name: byPlace };
    return unknown(`The document is ${kindOf(value)}, and every known format is an object.`);
  }
  const fields = versionFields.filter(field => Object.hasOwn(value, field));
  const [field] = fields;
  if (field === undefined) {
    if (byPlace) return { name: byPlace };
    return unknown('The document has no version field, so its format is not known. --as NAME says which is meant.');
  }
  if (fields.length > 1) {
    return {
      code: 'ambiguous',
      message: `The document has ${fields.join(' and ')}, so it claims two formats. --as NAME says which is meant.`,
    };
  }
  const names = entriesByField.get(field) ?? [];
  const said = (value as Record<string, unknown>)[field];
  const name = names.find(name => catalogue[name]?.value === said) ?? (names.length === 1 ? names[0] : byPlace);
  return name ? { name } : unknown(`No format here has the ${field} of this document. proctor explain lists them.`);
}

function unknown(message: string): Recognition {
  return { code: 'unknown_format', message };
}

const entriesByField = new Map<string, string[]>();
const namesByPlace = new Map<string, string>();
for (const [name, { field, places = [] }] of Object.entries(catalogue)) {
  if (field) entriesByField.set(field, [...(entriesByField.get(field) ?? []), name]);
  for (const place of places) namesByPlace.set(place, name);
}
const versionFields = [...entriesByField.keys()];
