import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { ledgerLineOf } from '../evidence/ledger-line.ts';
import { alreadyThere, notSealed, sealOf, writePack } from '../evidence/pack.ts';
import type { Verdict } from '../verify/index.ts';
import { PACK_ENDING, verifyPackable } from '../verify/pack.ts';
import { checkRunWord, refuseUnknown } from './options.ts';
import { placeOf } from './runs.ts';

export interface PackOptions {
  /** Where the pack is written; `<run id>.proctor.tar` in `cwd` if not said. */
  readonly out?: string;
  /** Files for internal use are packed, too. */
  readonly internal?: boolean;
  readonly cwd?: string;
  /** Stops it, and leaves nothing. */
  readonly signal?: AbortSignal;
}

export interface PackedRun {
  readonly runId: string;
  readonly kind: string;
  readonly file: string;
  readonly bytes: number;
  /** Of the whole file. */
  readonly sha256: string;
  readonly entries: number;
  /** How many internal files were left out. */
  readonly leftOut: number;
  /** The line of the ledger that tells of the run is in the pack. */
  readonly hasLedgerLine: boolean;
}

/** Makes one file of a run: a path, an id, the beginning of one, or `latest`. Only a run that verifies is packed. */
export async function packRun(run: string, options: PackOptions = {}): Promise<PackedRun> {
  checkRunWord('packRun', run);
  refuseUnknown('packRun', options, OPTIONS);
  const { internal = false, cwd = process.cwd(), signal } = options;
  const { id, folder } = placeOf(cwd, run);
  const { run_id: runId = id, kind } = sealOf(folder)?.statement.predicate ?? {};
  const file = path.resolve(cwd, options.out ?? `${runId}${PACK_ENDING}`);
  // Said before the work is done, and asked again when it is.
  if (existsSync(file)) throw alreadyThere(file);
  const ledgerLine = ledgerLineOf(folder);
  const trouble = await firstTrouble(verifyPackable(folder, ledgerLine), signal);
  if (trouble !== undefined) {
    throw new Fault('not_valid', `${printable(runId)} is not packed, because it does not verify: ${trouble}`);
  }
  if (kind === undefined) throw notSealed();
  const packed = await writePack(folder, file, { withInternal: internal, ledgerLine, signal });
  return { runId, kind, file, ...packed, hasLedgerLine: ledgerLine !== undefined };
}

const OPTIONS: Record<keyof PackOptions, true> = { out: true, internal: true, cwd: true, signal: true };

/** What is wrong first, in words; undefined if nothing is. */
export async function firstTrouble(
  batches: AsyncIterable<readonly Verdict[]>,
  signal?: AbortSignal,
): Promise<string | undefined> {
  let count = 0;
  for await (const verdicts of batches) {
    for (const { outcome, violations, reason, input, within } of verdicts) {
      if (outcome === 'valid') continue;
      const where = within === undefined ? '' : `${path.relative(within, input)}: `;
      const [first] = violations;
      return printable(where + (first ? `${first.rule_id} ${first.message}` : (reason?.message ?? 'It is not valid.')));
    }
    // A signal is heard only when others have their turn.
    if (++count % 256 === 0) await others();
    if (signal?.aborted) throw new Fault('interrupted', 'It was interrupted, and nothing was written.');
  }
  return undefined;
}
