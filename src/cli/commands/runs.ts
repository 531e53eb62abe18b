import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import { unknownPartsText } from '../../contracts/script-outcome/unknown-parts.ts';
import { prune } from '../../verbs/prune.ts';
import { recover } from '../../verbs/recover.ts';
import { type Listed, listRuns } from '../../verbs/runs.ts';
import { stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { countText, durationText } from '../text/units.ts';
import { namedKey } from '../options/variables.ts';

export async function listCommand({ json, limit }: { json?: true; limit: number }): Promise<number> {
  const paint = paintFor(1);
  const { runs, total } = await listRuns(process.cwd(), limit);
  if (json) {
    const entries = runs.map(({ folder, startedAt, durationMs, startedHere, id, ...rest }) => ({
      run_id: id,
      ...rest,
      ...(startedHere === false && { started_here: false }),
      folder: path.relative(process.cwd(), folder),
      started_at: startedAt ?? null,
      duration_ms: durationMs ?? null,
    }));
    stdout.write(`${printableJson({ runs: entries, total })}\n`);
    return 0;
  }
  if (runs.length === 0)
    stdout.write('No runs yet. Start one with proctor run script FILE, run intent FILE or run suite CASES.\n');
  for (const run of runs) {
    const { id, startedAt, status, subject, durationMs, startedHere, renamed, resume, recovered, folder, attempt } =
      run;
    const when = startedAt?.replace('T', ' ').slice(0, 19) ?? ''.padEnd(19);
    const took = durationMs === undefined ? '' : durationText(durationMs);
    const where = renamed ? paint('note', `  in the folder ${printable(path.basename(folder))}`) : '';
    const foreign = startedHere === false ? paint('note', '  interrupted; you did not start it on this machine') : '';
    const torn = recovered ? paint('note', `  ${interruptedText(recovered)}`) : '';
    const tried = attempt ? paint('faint', `  attempt ${attempt.number} of ${attempt.of} in ${attempt.group}`) : '';
    const style = STYLES[status] ?? 'bad';
    stdout.write(
      `${paint(style, printable(status.replace('_', ' ').padEnd(STATUS_WIDTH)))} ${printable(when)}  ${took.padStart(8)}  ${printable(id)}  ${printable(subject ?? '')}${tried}${torn}${foreign}${where}\n`,
    );
    if (resume !== undefined)
      stdout.write(paint('faint', `${''.padEnd(STATUS_WIDTH)} continue with: ${printable(resume)}\n`));
  }
  if (total > runs.length) stdout.write(paint('faint', `${total - runs.length} older runs; use --limit to see more\n`));
  return 0;
}

function interruptedText({ unknown }: NonNullable<Listed['recovered']>): string {
  return unknown.length === 0 ? 'interrupted' : `interrupted; unknown: ${unknownPartsText(unknown)}`;
}

/** The length of the longest status. */
const STATUS_WIDTH = 'killed timeout'.length;

const STYLES: Readonly<Record<string, 'good' | 'note'>> = {
  succeeded: 'good',
  accepted: 'good',
  passed: 'good',
  answered: 'note',
  'not all passed': 'note',
  completed: 'good',
  running: 'note',
  unfinished: 'note',
};

export async function pruneCommand({
  olderThan,
  dryRun,
  json,
}: {
  olderThan: number;
  dryRun?: true;
  json?: true;
}): Promise<number> {
  const { runs, comparisons, reports, kept } = await prune(process.cwd(), olderThan, dryRun === true);
  if (json) {
    const others = { comparisons, reports, kept };
    stdout.write(`${printableJson(dryRun ? { would_remove: runs, ...others } : { removed: runs, ...others })}\n`);
    return 0;
  }
  for (const name of [...runs, ...comparisons, ...reports.map(id => `report of ${id}`)]) {
    stdout.write(`${dryRun ? 'would remove' : 'removed'}  ${printable(name)}\n`);
  }
  for (const { group, runs: old } of kept) {
    stdout.write(`kept  ${countText(old, 'old run')} of ${group}, because other attempts of the group stay\n`);
  }
  const counts = [
    countText(runs.length, 'run'),
    ...(comparisons.length > 0 ? [countText(comparisons.length, 'comparison')] : []),
    ...(reports.length > 0 ? [countText(reports.length, 'report')] : []),
  ];
  stdout.write(`${counts.join(', ')} ${dryRun ? 'would be removed' : 'removed'}.\n`);
  return 0;
}

export async function recoverCommand({ json }: { json?: true }): Promise<number> {
  const recovered = await recover(process.cwd(), namedKey());
  if (json) stdout.write(`${printableJson({ runs: recovered.map(({ id, became }) => ({ run_id: id, became })) })}\n`);
  else {
    for (const { id, became, why } of recovered) {
      stdout.write(`${printable(id)}  ${BECAME[became]}${why === undefined ? '' : `: ${printable(why)}`}\n`);
    }
    if (recovered.length === 0) stdout.write('All runs are finished.\n');
  }
  return 0;
}

const BECAME = {
  recovered: 'was interrupted; its run folder is complete now, and records the interruption',
  sealed: 'was already finished; removed its journal',
  removed: 'had not started; removed',
  alive: 'is still running',
  resumable: 'is an interrupted suite; resume it',
  foreign: 'was interrupted; you did not start it on this machine',
  odd: 'is unchanged',
  entered: 'had no ledger line; added it',
  repaired: 'was repaired',
} as const;
