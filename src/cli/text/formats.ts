import { InvalidArgumentError } from 'commander';
import { printable } from '../../base/printable.ts';
import { type Format, FORMATS } from '../../verbs/formats.ts';

/** `html,junit`; repeatable. */
export function formats(text: string, before: readonly Format[] | undefined): readonly Format[] {
  const words = text.split(',').map(word => word.trim());
  const unknown = words.find(word => !FORMATS.includes(word as Format));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`There is no report format "${printable(unknown)}". Use ${FORMATS.join(', ')}.`);
  }
  return [...new Set([...(before ?? []), ...(words as Format[])])];
}
