import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { ledgerLineOf } from '../evidence/recovery/ledger-line.ts';
import { alreadyThere, notSealed, sealOf, writePack } from '../evidence/pack/pack.ts';
import type { Verdict } from '../verify/index.ts';
import { PACK_ENDING, verifyPackable } from '../verify/pack.ts';
import { checkRunWord, refuseUnknown } from './options.ts';
import { runFolderOf } from './runs.ts';

export interface PackOptions {
  /** The file to write; `<run id>.proctor.tar` in `cwd` by default. */
  readonly out?: string;
  /** Includes internal files. */
  readonly internal?: boolean;
  readonly cwd?: string;
  /** Stops the work and leaves nothing behind. */
  readonly signal?: AbortSignal;
}

export interface PackedRun {
  readonly runId: string;
  readonly kind: string;
  readonly file: string;
  readonly bytes: number;
  /** The hash of the whole pack. */
  readonly sha256: string;
  readonly entries: number;
  /** The number of internal files that were left out. */
  readonly leftOut: number;
  /** Whether the pack contains the run's ledger line. */
  readonly hasLedgerLine: boolean;
}

/** Packs a run into one file. The run is a path, an id, an id prefix, or `latest`, and must verify. */
export async function packRun(run: string, options: PackOptions = {}): Promise<PackedRun> {
  checkRunWord('packRun', run);
  refuseUnknown('packRun', options, OPTIONS);
  const { internal = false, cwd = process.cwd(), signal } = options;
  const { id, folder } = runFolderOf(cwd, run);
  const { run_id: runId = id, kind } = sealOf(folder)?.statement.predicate ?? {};
  const file = path.resolve(cwd, options.out ?? `${runId}${PACK_ENDING}`);
  // Fail early. Writing the pack checks this again.
  if (existsSync(file)) throw alreadyThere(file);
  const ledgerLine = ledgerLineOf(folder);
  const trouble = await firstViolation(verifyPackable(folder, ledgerLine), signal);
  if (trouble !== undefined) {
    throw new Fault('not_valid', `Cannot pack ${printable(runId)}, because it does not verify: ${trouble}`);
  }
  if (kind === undefined) throw notSealed();
  const packed = await writePack(folder, file, { withInternal: internal, ledgerLine, signal });
  return { runId, kind, file, ...packed, hasLedgerLine: ledgerLine !== undefined };
}

const OPTIONS: Record<keyof PackOptions, true> = { out: true, internal: true, cwd: true, signal: true };

/** The first violation as text; undefined if everything is valid. */
export async function firstViolation(
  batches: AsyncIterable<readonly Verdict[]>,
  signal?: AbortSignal,
): Promise<string | undefined> {
  let count = 0;
  for await (const verdicts of batches) {
    for (const { outcome, violations, reason, input, within } of verdicts) {
      if (outcome === 'valid') continue;
      const where = within === undefined ? '' : `${path.relative(within, input)}: `;
      const [first] = violations;
      return printable(where + (first ? `${first.rule_id} ${first.message}` : (reason?.message ?? 'not valid')));
    }
    // Yield regularly, so that a signal can arrive.
    if (++count % 256 === 0) await others();
    if (signal?.aborted) throw new Fault('interrupted', 'Interrupted. Nothing was written.');
  }
  return undefined;
}
