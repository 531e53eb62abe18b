import { closeSync, fstatSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { codeOf, Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { openRegular } from '../../base/regular.ts';
import { MIB } from '../../contracts/contract.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import { type AskedTarget, CaseFindings } from './case-findings.ts';
import type { CaseSource } from './case-source.ts';
import { csvSource } from './cases-csv.ts';
import { jsonLinesSource, jsonSource } from './cases-json.ts';
import { yamlSource } from './cases-yaml.ts';

/**
 * Passes every case in a file to `take`, resolved and in order. If it throws, discard all cases: earlier ones were
 * already passed on. `asked` is the target, if known.
 */
export function readCases(file: string, take: TakeCase, asked?: AskedTarget): void {
  const { fd, name, size, format } = openedCases(file);
  try {
    const source = format.source(fd, size);
    const doubts = new CaseFindings(name, source, asked);
    for (const written of source.written) {
      const one = doubts.resolved(written);
      if (one && 'index' in written) take(one, () => source.lineOf(written.index, ''));
    }
    doubts.settle();
  } finally {
    closeSync(fd);
  }
}

/** Finding the line of a case takes time, so it is done only on demand. */
type TakeCase = (one: SuiteCase, lineOf: () => number) => void;

/** Throws a Fault if the file cannot be a case file. It does not read the cases. */
export function checkCaseFile(file: string): void {
  closeSync(openedCases(file).fd);
}

function openedCases(file: string): { fd: number; name: string; size: number; format: Format } {
  const name = printable(path.basename(file));
  const ending = path.extname(file).toLowerCase();
  const format = FORMATS.find(({ endings }) => endings.includes(ending));
  if (!format) {
    throw refused(
      `${name} is not a supported case file: its name must end in ${ENDINGS.slice(0, -1).join(', ')} or .csv.`,
    );
  }
  const fd = opened(file, name);
  const { size } = fstatSync(fd);
  if (size <= format.mibMax * MIB) return { fd, name, size, format };
  closeSync(fd);
  throw refused(`${name} is larger than ${format.mibMax} MiB, the limit for this format.`);
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

/** Follows a symlink named by the user. Never blocks on something that is not a regular file. */
function opened(file: string, name: string): number {
  let fd: number | undefined;
  try {
    const target = realpathSync(file);
    if (statSync(target).isDirectory()) throw refused(`${name} is a folder, not a case file.`);
    fd = openRegular(target);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    if (codeOf(cause) === 'ENOENT') throw refused(`The case file ${name} does not exist.`, cause);
  }
  if (fd === undefined) throw refused(`${name} cannot be read: it is not a regular file, or it cannot be opened.`);
  return fd;
}

function refused(message: string, cause?: unknown): Fault {
  return new Fault('cases_invalid', message, { cause });
}
