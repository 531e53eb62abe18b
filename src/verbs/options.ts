import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';

/** Rejects unknown options, because a misspelled one would silently do nothing. */
export function refuseUnknown(verb: string, options: object, known: object): void {
  const unknown = Object.keys(options ?? {}).find(key => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  const names = Object.keys(known).join(', ');
  throw new Fault('usage', `${verb} has no option "${printable(unknown)}". Options: ${names}.`);
}

export function checkRunWord(verb: string, word: string): void {
  if (typeof word !== 'string') throw new Fault('usage', `${verb} requires a run: a path, an id, or "latest".`);
}
