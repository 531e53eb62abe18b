import path from 'node:path';
import { clip } from '../../base/clip.ts';
import { instantText, systemClock } from '../../base/clock.ts';
import { fileHashInTurns } from '../../base/file-hash.ts';
import { printable } from '../../base/printable.ts';
import { type CommandEnd, runOperatorCommand } from '../../execute/host/operator-command.ts';
import { noteRun, type ScannedLine } from '../../publish/script-runs.ts';
import { scriptSettingsIn } from '../settings.ts';
import { outputFiles } from '../../publish/outputs.ts';

/**
 * Shows every output file of a run to the operator's `scan` command, before the files are offered. Exit code 0 offers
 * a file. Anything else withholds it. Does nothing without a command.
 */
export async function scanOutputs(
  home: string,
  folder: string,
  runId: string,
  onWarning?: (sentence: string) => void,
): Promise<void> {
  const { scan, scanTimeoutMs } = scriptSettingsIn(home);
  if (!scan) return;
  const files: ScannedLine['files'] = [];
  for (const { path: file, sha256 } of outputFiles(folder)) {
    const place = path.join(folder, file);
    const end = await runOperatorCommand(
      scan.map(word => (word === '{file}' ? place : word)),
      scanTimeoutMs,
    );
    const isSame = (await fileHashInTurns(place)) === sha256;
    const why = isSame ? reasonOf(end) : 'The file changed while it was scanned.';
    if (why === null) {
      files.push({ path: file, sha256, verdict: 'offered', why });
      continue;
    }
    // Exit code 1 is an answer. Everything else means that the command does not work.
    const isRejected = isSame && end.how === 'exited' && end.code === 1;
    const because = isRejected ? 'rejected' : 'not_checked';
    files.push({ path: file, sha256, verdict: 'withheld', why, withheld_because: because });
    if (!isRejected) onWarning?.(`scan: a file of ${runId} is withheld. ${why}`);
  }
  noteRun(home, runId, { is: 'scanned', at: instantText(systemClock.now()), files });
}

/** Why a file is withheld, for admins; null if it is offered. */
function reasonOf(end: CommandEnd): string | null {
  if (end.how === 'exited' && end.code === 0) return null;
  const said = printable(clip(end.printed.trim().replaceAll('\n', ' · '), 500).text);
  const what =
    end.how === 'exited'
      ? `The scan command exited with ${end.code}`
      : {
          killed: 'The scan command was killed',
          timed_out: 'The scan command took too long',
          not_started: 'The scan command could not be started',
        }[end.how];
  return said === '' ? `${what}.` : `${what}: ${said}`;
}
