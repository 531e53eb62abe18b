import { printable } from '../../base/printable.ts';
import type { SealNotice } from '../../verbs/judged.ts';
import type { Paint } from './paint.ts';

/** A line about evaluations that do not match their seal; empty if all match. */
export function judgementLine(told: readonly (SealNotice | undefined)[], paint: Paint): string {
  const untrusted = told.flatMap(one => (one?.message ? [{ ...one, message: one.message }] : []));
  const [first] = untrusted;
  if (!first) return '';
  const more = untrusted.length > 1 ? ` The same is true of ${untrusted.length - 1} more.` : '';
  return `${paint('bad', '!')} ${printable(first.message)} ${DONE[first.judged]}${more}\n`;
}

const DONE: Readonly<Record<SealNotice['judged'], string>> = {
  as_sealed: '',
  again: 'Proctor judged it again.',
  not: 'It is not shown. Run proctor report to judge the run again.',
};

export function judgementJson({ id, state, message, judged }: SealNotice): object {
  return { id, state, message, judged };
}
