import { closeSync, fstatSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { codeOf, Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { openRegular } from '../../base/regular.ts';
import { MIB } from '../../contracts/contract.ts';
import type { SuiteCase, SuiteTarget } from '../../contracts/suite/index.ts';
import { CaseDoubts } from './case-doubts.ts';
import type { CaseSource } from './case-source.ts';
import { csvSource } from './cases-csv.ts';
import { jsonLinesSource, jsonSource } from './cases-json.ts';
import { yamlSource } from './cases-yaml.ts';

/**
 * Hands over every case of a file that people wrote, resolved and in order. Whoever takes them must keep none if this
 * throws: cases before the first fault have been handed over by then. `kind` is that of the target, where it is known.
 */
export function readCases(file: string, take: (one: SuiteCase) => void, kind?: SuiteTarget['kind']): void {
  const name = printable(path.basename(file));
  const ending = path.extname(file).toLowerCase();
  const format = FORMATS.find(({ endings }) => endings.includes(ending));
  if (!format) {
    throw refused(`${name} is not read as cases: its name must end in ${ENDINGS.slice(0, -1).join(', ')} or .csv.`);
  }
  const fd = opened(file, name);
  try {
    const { size } = fstatSync(fd);
    if (size > format.mibMax * MIB) {
      throw refused(`${name} is larger than cases may be in this format, ${format.mibMax} MiB.`);
    }
    const source = format.source(fd, size);
    const doubts = new CaseDoubts(name, source, kind);
    for (const written of source.written) {
      const one = doubts.resolved(written);
      if (one) take(one);
    }
    doubts.settle();
  } finally {
    closeSync(fd);
  }
}

interface Format {
  readonly endings: readonly string[];
  readonly mibMax: number;
  readonly source: (fd: number, bytes: number) => CaseSource;
}

const FORMATS: readonly Format[] = [
  { endings: ['.json'], mibMax: 256, source: jsonSource },
  { endings: ['.jsonl', '.ndjson'], mibMax: 256, source: jsonLinesSource },
  { endings: ['.yaml', '.yml'], mibMax: 64, source: yamlSource },
  { endings: ['.csv'], mibMax: 64, source: csvSource },
];

const ENDINGS = FORMATS.flatMap(({ endings }) => endings);

/** A link that a person names means its target; what is no regular file is never waited for. */
function opened(file: string, name: string): number {
  let fd: number | undefined;
  try {
    const target = realpathSync(file);
    if (statSync(target).isDirectory()) throw refused(`${name} is a folder, not a file of cases.`);
    fd = openRegular(target);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    if (codeOf(cause) === 'ENOENT') throw refused(`There is no file ${name} to read cases from.`, cause);
  }
  if (fd === undefined) throw refused(`${name} cannot be read: it is not a regular file, or may not be opened.`);
  return fd;
}

function refused(message: string, cause?: unknown): Fault {
  return new Fault('cases_invalid', message, { cause });
}
