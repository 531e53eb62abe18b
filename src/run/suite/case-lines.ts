import { Fault } from '../../base/fault.ts';
import { readCases } from './cases-file.ts';

/** Returns the line of each case in a case file. It is empty for an invalid file, because a wrong line misleads. */
export function caseLines(file: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  try {
    readCases(file, (one, lineOf) => lines.set(one.id, lineOf()));
  } catch (error) {
    if (error instanceof Fault) return new Map();
    throw error;
  }
  return lines;
}
