import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { packRun } from '../../verbs/pack.ts';
import { unpack } from '../../verbs/unpack.ts';
import { interruptions } from '../options/interruptions.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { countText, sizeText } from '../text/units.ts';

export async function packCommand(
  run: string,
  { json, ...flags }: { out?: string; internal?: true; json?: true },
): Promise<number> {
  return asFault(json, async signal => {
    const packed = await packRun(run, { ...flags, cwd: process.cwd(), signal });
    const { runId, kind, bytes, sha256, entries, leftOut, hasLedgerLine } = packed;
    const file = path.relative(process.cwd(), packed.file);
    if (json) {
      const answer = {
        run_id: runId,
        kind,
        file,
        bytes,
        sha256,
        entries,
        left_out: leftOut,
        ledger_line: hasLedgerLine,
      };
      stdout.write(`${printableJson({ ok: true, ...answer })}\n`);
      return;
    }
    const paint = paintFor(1);
    const internal = leftOut > 0 ? `, without ${countText(leftOut, 'internal file')}` : '';
    const ledger = hasLedgerLine ? ', with its ledger line' : '';
    stdout.write(
      `${paint('good', '✓')} ${paint('strong', 'packed')}  ${printable(runId)}: ${countText(entries, 'entry', 'entries')}, ${sizeText(bytes)}${internal}${ledger}\n` +
        `  pack    ${printable(file)}\n` +
        `  ${paint('faint', sha256)}\n` +
        paint('faint', `          proctor verify ${printable(file)} · proctor unpack ${printable(file)}\n`),
    );
  });
}

export async function unpackCommand(file: string, { json, to }: { to?: string; json?: true }): Promise<number> {
  return asFault(json, async signal => {
    const unpacked = await unpack(file, { ...(to !== undefined && { to }), cwd: process.cwd(), signal });
    const { runId, kind, files, leftOut } = unpacked;
    const folder = path.relative(process.cwd(), unpacked.folder);
    if (json) {
      stdout.write(`${printableJson({ ok: true, run_id: runId, kind, folder, files, left_out: leftOut })}\n`);
      return;
    }
    const paint = paintFor(1);
    const internal =
      leftOut > 0 ? `, without ${countText(leftOut, 'internal file')} that the pack does not contain` : '';
    stdout.write(
      `${paint('good', '✓')} ${paint('strong', 'unpacked')}  ${printable(runId)}: ${countText(files, 'file')}${internal}\n` +
        `  folder  ${printable(folder)}\n`,
    );
  });
}

/** Exits with 1 if the evidence does not verify. A signal stops the work and leaves nothing behind. */
export async function asFault(json: true | undefined, work: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const interrupted = interruptions();
  try {
    await work(interrupted.signal);
    return 0;
  } catch (error) {
    if (!(error instanceof Fault) || !TOLD.has(error.code)) throw error;
    const { code, message } = error;
    if (json) stdout.write(`${printableJson({ ok: false, error: { code, message } })}\n`);
    stderr.write(`error: ${message}\n`);
    return interrupted.exit() ?? 1;
  } finally {
    interrupted.end();
  }
}

const TOLD: ReadonlySet<string> = new Set(['not_valid', 'not_sealed', 'not_applied', 'interrupted']);
