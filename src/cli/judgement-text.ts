import { printable } from '../base/printable.ts';
import type { Told } from '../tool/judged.ts';
import type { Paint } from './paint.ts';

/** A line about evaluations that do not match their seal; empty if all match. */
export function judgementLine(told: readonly (Told | undefined)[], paint: Paint): string {
  const untrusted = told.flatMap(one => (one?.message ? [{ ...one, message: one.message }] : []));
  const [first] = untrusted;
  if (!first) return '';
  const more = untrusted.length > 1 ? ` The same is true of ${untrusted.length - 1} more.` : '';
  return `${paint('bad', '!')} ${printable(first.message)} ${DONE[first.judged]}${more}\n`;
}

const DONE: Readonly<Record<Told['judged'], string>> = {
  as_sealed: '',
  again: 'Proctor judged it again.',
  not: 'It is not shown. Run proctor report to judge the run again.',
};

export function judgementJson({ id, state, message, judged }: Told): object {
  return { id, state, message, judged };
}
