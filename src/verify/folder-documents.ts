import path from 'node:path';
import { MIB } from '../contracts/contract.ts';
import { BYTES_MAX, capOf, type Examined, examine, profileIn } from './examine.ts';
import { EMPTY, notRead, recordsOf } from './file.ts';
import { once } from './once.ts';
import type { Options } from './options.ts';
import { formatOf } from './recognise.ts';
import type { FileSource } from './file-source.ts';
import { refused } from './verdict.ts';

/** Reads the documents in a file: one from JSON, one per line from NDJSON, none from any other file. */
export function documentReader(
  shelf: FileSource,
  options: Options,
): (file: string) => Generator<Examined | Promise<Examined>> {
  const profileOf = once(folder => profileIn(shelf.read(path.posix.join(folder, 'policy.json'), MIB)));
  return function* documentsIn(file) {
    const extension = path.extname(file).toLowerCase();
    if (extension === '.ndjson' || extension === '.jsonl') yield* linesIn(shelf, file, options);
    else if (extension === '.json') yield documentIn(shelf, file, options, profileOf);
  };
}

function* linesIn(shelf: FileSource, file: string, options: Options): Generator<Examined | Promise<Examined>> {
  const within = shelf.input;
  const full = shelf.nameOf(file);
  const opened = shelf.open(file);
  if (!opened.ok) {
    yield { verdict: notRead(full, opened, within) };
    return;
  }
  const { fd, size, span } = opened;
  try {
    if (size === 0 && !TRANSCRIPT.test(file)) yield { verdict: refused(full, 'empty', EMPTY, within) };
    const failure =
      (yield* recordsOf(fd, full, options, options.bytesMax ?? BYTES_MAX, within, span)) ?? opened.changed();
    if (failure) yield { verdict: notRead(full, failure, within) };
  } finally {
    opened.close();
  }
}

/** The transcript of an agent that said nothing is empty. */
const TRANSCRIPT = /(?:^|\/)steps\/[^/]+\/transcript\.ndjson$/;

function documentIn(
  shelf: FileSource,
  file: string,
  options: Options,
  profileOf: (folder: string) => unknown,
): Examined | Promise<Examined> {
  const within = shelf.input;
  const fileName = path.basename(file);
  const origin = {
    input: shelf.nameOf(file),
    fileName,
    profile: () => profileOf(path.posix.dirname(file)),
    within,
    ofRun: RUNNER_OF_RUN.test(file),
  };
  const judged = (cap: number): Examined | Promise<Examined> => {
    const source = shelf.read(file, cap);
    return source.ok ? examine(source.bytes, origin, options) : { verdict: notRead(origin.input, source, within) };
  };
  // Await the limit only if the name determines the format: a promise per case would cost more than judging the case.
  return formatOf(fileName) === undefined
    ? judged(options.bytesMax ?? BYTES_MAX)
    : capOf(options, fileName).then(judged);
}

const RUNNER_OF_RUN = /(?:^|\/)evidence\/runner\.json$/;
