import { closeSync, rmSync } from 'node:fs';
import path from 'node:path';
import { bytesHash } from '../../base/hash.ts';
import { linesOf } from '../../base/lines.ts';
import { openRegular } from '../../base/regular.ts';
import { replaceByParts } from '../../base/replace.ts';
import { attemptOutcome } from '../../contracts/attempt-outcome/index.ts';

/** What workers signed: one `attempt-outcome.v1` line per attempt that a worker made. */
export const OUTCOME_LOG = 'assets/outcomes.ndjson';

/** The hashes of the stored outcomes. */
export function signedOutcomes(folder: string): ReadonlySet<string> {
  return new Set([...outcomeLines(folder)].map(({ sha256 }) => sha256));
}

/** Removes all other outcomes, and duplicates: a journal that lost its last lines does not name them. */
export function keepOutcomes(folder: string, kept: ReadonlySet<string>): void {
  const file = path.join(folder, OUTCOME_LOG);
  if (kept.size === 0) {
    rmSync(file, { force: true });
    return;
  }
  const left = new Set(kept);
  replaceByParts(file, function* () {
    for (const { line, sha256 } of outcomeLines(folder))
      if (left.delete(sha256)) yield Buffer.concat([line, LINE_FEED]);
  });
}

const LINE_FEED = Buffer.from('\n');

/** The whole lines of the file. A line is valid only until the next. */
function* outcomeLines(folder: string): Generator<{ readonly line: Buffer; readonly sha256: string }> {
  const fd = openRegular(path.join(folder, OUTCOME_LOG));
  if (fd === undefined) return;
  try {
    for (const { bytes, isCut } of linesOf(fd, attemptOutcome.bytesMax, 0)) {
      if (!bytes || isCut) return;
      yield { line: bytes, sha256: bytesHash(bytes) };
    }
  } finally {
    closeSync(fd);
  }
}
