import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';

/** An option that is misspelt would silently do nothing. */
export function refuseUnknown(verb: string, options: object, known: object): void {
  const unknown = Object.keys(options ?? {}).find(key => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  const names = Object.keys(known).join(', ');
  throw new Fault('usage', `${verb} does not know the option "${printable(unknown)}". There are: ${names}.`);
}

/** A run that is meant by a word: a path, an id, the beginning of one, or `latest`. */
export function checkRunWord(verb: string, word: string): void {
  if (typeof word !== 'string') throw new Fault('usage', `${verb} needs a run: a path, an id, or "latest".`);
}
