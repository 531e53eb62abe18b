import { formOf } from '../../contracts/form.ts';
import type { Shape } from '../../contracts/shape.ts';

/** Whether a value from a file has the given shape. Additional keys are allowed, for later versions. */
export function isShaped(value: unknown, shape: Shape): boolean {
  const form = formOf(shape);
  if (form.fits(value)) return true;
  for (const _ of form.faults(value, '')) return false;
  return true;
}
