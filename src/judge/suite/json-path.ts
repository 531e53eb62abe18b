import { Unjudgeable } from './unjudgeable.ts';

/** All values that a path such as `$.items[*].price` selects. Only the document's own keys count. */
export function valuesAt(path: string, document: unknown): unknown[] {
  let values = [document];
  for (const step of stepsOf(path)) values = values.flatMap(value => next(step, value));
  return values;
}

type Step = { readonly key: string } | { readonly index: number } | 'all';

function stepsOf(path: string): Step[] {
  return [...path.matchAll(STEP)].map(([, name, index, quoted]) => {
    if (name !== undefined) return { key: name };
    if (index !== undefined) return { index: Number(index) };
    return quoted === undefined ? 'all' : { key: keyIn(quoted) };
  });
}

/** One step of a path; see EXPECTED_ASKS. */
const STEP = /\.([A-Za-z_][\w-]*)|\[(?:(\d{1,9})|\*|("(?:[^"\\]|\\.)*"))\]/g;

function keyIn(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw new Unjudgeable('The path has a quoted name that is not a valid JSON string.');
  }
}

function next(step: Step, value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step === 'all') return Array.isArray(value) ? value : Object.values(value);
  if ('index' in step) return Array.isArray(value) && step.index < value.length ? [value[step.index]] : [];
  if (Array.isArray(value) || !Object.hasOwn(value, step.key)) return [];
  return [(value as Record<string, unknown>)[step.key]];
}
