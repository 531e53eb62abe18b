import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../../src/base/fault.ts';
import type { SuiteCase } from '../../../src/contracts/suite/index.ts';
import { readCases } from '../../../src/run/suite/cases-file.ts';
import { temporaryFolder } from '../../support/support.ts';

/** The cases of a file with this name and content. */
export function casesIn(name: string, content: string | Uint8Array): SuiteCase[] {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, content);
  return casesOf(file);
}

export function casesOf(file: string): SuiteCase[] {
  const cases: SuiteCase[] = [];
  readCases(file, one => cases.push(one));
  return cases;
}

/** The faults of a refused file, or the single sentence about the whole file. */
export function faultsIn(name: string, content: string | Uint8Array): string[] {
  return faultsOf(() => casesIn(name, content));
}

export function faultsOf(read: () => unknown): string[] {
  try {
    read();
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'cases_invalid') throw error;
    const [first = '', ...faults] = error.message.split('\n  ');
    return faults.length > 0 ? faults : [first];
  }
  throw new Error('The cases were read without a fault.');
}
