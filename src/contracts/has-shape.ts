import { formOf } from './form.ts';
import type { Shape } from './shape.ts';

/** Whether a value has the shape. Allows unknown keys, because a newer version may have written them. */
export function hasShape(shape: Shape, value: unknown): boolean {
  const form = formOf(shape);
  if (form.fits(value)) return true;
  for (const _ of form.faults(value, '')) return false;
  return true;
}
