import { printable } from '../base/printable.ts';
import type { Told } from '../tool/judged.ts';
import type { Paint } from './paint.ts';

/** The first line of what a command prints when a judgement is not bound to its seal; nothing if all are. */
export function judgementLine(told: readonly (Told | undefined)[], paint: Paint): string {
  const untrusted = told.flatMap(one => (one?.message ? [{ ...one, message: one.message }] : []));
  const [first] = untrusted;
  if (!first) return '';
  const more = untrusted.length > 1 ? ` So are ${untrusted.length - 1} more.` : '';
  return `${paint('bad', '!')} ${printable(first.message)} ${DONE[first.judged]}${more}\n`;
}

const DONE: Readonly<Record<Told['judged'], string>> = {
  as_sealed: '',
  again: 'It was judged again.',
  not: 'It is not shown; proctor report judges the run again.',
};

/** The same for `--json`. */
export function judgementJson({ id, state, message, judged }: Told): object {
  return { id, state, message, judged };
}
