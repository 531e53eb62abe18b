import { createHash } from 'node:crypto';
import { existsSync, opendirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { followLink, readRegular } from '../base/regular.ts';
import { FILE_BYTES_MAX, readResults, type ResultFormat } from '../judge/results/read.ts';
import { ResultFault } from '../run/results/row.ts';
import { ResultSide } from '../judge/results/side.ts';

export interface ResultFile {
  readonly name: string;
  readonly format: ResultFormat;
  /** Whether its trials are reruns. */
  readonly rerun: boolean;
}

export interface ReadSide {
  readonly side: ResultSide;
  readonly files: readonly ResultFile[];
  /** The resolved paths, to detect a file on both sides. */
  readonly paths: readonly string[];
  /** The number of files with the same bytes as an earlier one. Their trials do not count. */
  readonly copies: number;
}

/** Reads one side: a file, a folder, or several separated by commas. */
export function readSide(word: string, cwd: string): ReadSide {
  const paths = filesOf(word, cwd);
  const side = new ResultSide();
  const hashes = new Set<string>();
  let bytesLeft = SIDE_BYTES_MAX;
  const files = paths.map(file => {
    const name = printable(path.basename(file));
    const bytes = readRegular(followLink(file), FILE_BYTES_MAX);
    if (!bytes) throw refused(`Cannot read ${name}: it is not a file of at most ${FILE_BYTES_MAX / MIB} MiB.`);
    if ((bytesLeft -= bytes.length) < 0)
      throw refused(`The files of one side exceed ${SIDE_BYTES_MAX / MIB} MiB in total.`);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const rerun = RERUN.test(file);
    const format = formatOf(bytes, name, hashes.has(hash) ? new ResultSide() : side, rerun);
    hashes.add(hash);
    return { name, format, rerun };
  });
  return { side, files, paths: paths.map(followLink), copies: files.length - hashes.size };
}

const MIB = 1024 * 1024;
const SIDE_BYTES_MAX = 256 * MIB;
const FILES_MAX = 1_000;

/** Files such as `3.rerun.xml` contain reruns, which JUnit and CTRF cannot mark otherwise. */
const RERUN = /\.rerun\.[^./\\]+$/i;

function formatOf(bytes: Buffer, name: string, side: ResultSide, isRerun: boolean): ResultFormat {
  try {
    const { format, rows } = readResults(bytes);
    side.add(rows, isRerun);
    return format;
  } catch (error) {
    if (!(error instanceof ResultFault)) throw error;
    const where = error.line === undefined ? '' : `, line ${error.line}`;
    throw refused(`${name}${where}: ${error.message}.`);
  }
}

function filesOf(word: string, cwd: string): readonly string[] {
  // A file name can contain commas.
  const words = existsSync(path.resolve(cwd, word)) ? [word] : word.split(',').filter(one => one !== '');
  const files = words.flatMap(one => filesAt(path.resolve(cwd, one)));
  if (files.length === 0) throw refused('One side has no files.');
  if (files.length > FILES_MAX) throw refused(`One side has more than ${FILES_MAX.toLocaleString('en-US')} files.`);
  const twice = files.find((file, index) =>
    files.slice(0, index).some(other => followLink(other) === followLink(file)),
  );
  if (twice !== undefined) throw refused(`${printable(path.basename(twice))} appears twice on one side.`);
  return files;
}

function filesAt(place: string): readonly string[] {
  const name = printable(path.basename(place));
  const stat = statSync(place, { throwIfNoEntry: false });
  if (!stat) throw refused(`There is no file or folder ${name}.`);
  if (!stat.isDirectory()) return [place];
  const found = resultsIn(place);
  if (found.length === 0) throw refused(`The folder ${name} contains no ${ENDINGS.join(', ')} file.`);
  return found;
}

const ENDINGS: readonly string[] = ['.xml', '.json', '.jsonl', '.ndjson', '.csv'];

/** Sorted by name, so that the order is the same on every machine. */
function resultsIn(folder: string): readonly string[] {
  const found: string[] = [];
  const entries = opendirSync(folder);
  try {
    for (let entry = entries.readSync(); entry && found.length <= FILES_MAX; entry = entries.readSync()) {
      if (ENDINGS.includes(path.extname(entry.name).toLowerCase())) found.push(path.join(folder, entry.name));
    }
  } finally {
    entries.closeSync();
  }
  return found.sort((a, b) => (a < b ? -1 : 1));
}

function refused(message: string): Fault {
  return new Fault('results_invalid', message);
}
