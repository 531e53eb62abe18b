import path from 'node:path';
import { printable, printableJson } from '../base/printable.ts';
import { recover } from '../tool/recover.ts';
import { listRuns, pruneRuns, type Shown, showRun } from '../tool/runs.ts';
import { stdout } from './out.ts';
import { type Paint, paintFor } from './paint.ts';
import { boundsText, endingText } from './run-text.ts';
import { counted, durationText, sizeText } from './units.ts';

export async function listCommand({ json, limit }: { json?: true; limit: number }): Promise<number> {
  const paint = paintFor(1);
  const { runs, total } = await listRuns(process.cwd(), limit);
  if (json) {
    const entries = runs.map(({ folder, startedAt, durationMs, id, ...rest }) => ({
      run_id: id,
      ...rest,
      folder: path.relative(process.cwd(), folder),
      started_at: startedAt ?? null,
      duration_ms: durationMs ?? null,
    }));
    stdout.write(`${printableJson({ runs: entries, total })}\n`);
    return 0;
  }
  if (runs.length === 0) stdout.write('No run yet. proctor run script FILE makes one.\n');
  for (const { id, startedAt, status, subject, durationMs } of runs) {
    const when = startedAt?.replace('T', ' ').slice(0, 19) ?? ''.padEnd(19);
    const took = durationMs === undefined ? '' : durationText(durationMs);
    const style = status === 'succeeded' ? 'good' : status === 'running' ? 'note' : 'bad';
    stdout.write(
      `${paint(style, status.replace('_', ' ').padEnd(10))} ${when}  ${took.padStart(8)}  ${id}  ${printable(subject ?? '')}\n`,
    );
  }
  if (total > runs.length) stdout.write(paint('faint', `${total - runs.length} older ones: --limit shows more\n`));
  return 0;
}

export async function showCommand(word: string, { json, internal }: { json?: true; internal?: true }): Promise<number> {
  const shown = await showRun(process.cwd(), word);
  if (json) {
    const { place, request, runner, outcome, result, isOpen } = shown;
    const folder = path.relative(process.cwd(), place.folder);
    stdout.write(
      `${printableJson({ kind: 'script', run_id: place.id, folder, is_open: isOpen, request, runner, outcome, result })}\n`,
    );
    return 0;
  }
  stdout.write(showText(shown, paintFor(1)));
  if (internal)
    stdout.write(
      `\n  internal  ${printable(path.relative(process.cwd(), path.join(shown.place.folder, 'evidence', 'internal')))}\n`,
    );
  return 0;
}

function showText({ place, request, runner, outcome, result, isOpen }: Shown, paint: Paint): string {
  const folder = printable(path.relative(process.cwd(), place.folder) || '.');
  if (!outcome || !runner || !request || !result) {
    return `${paint('strong', place.id)}  ${isOpen ? 'is still running' : 'cannot be read'}\n  evidence  ${folder}\n`;
  }
  const mark = outcome.status === 'succeeded' ? paint('good', '✓') : paint('bad', '✗');
  const used = [
    ...(outcome.usage.cpu_ms === null ? [] : [`${durationText(outcome.usage.cpu_ms)} of processor time`]),
    ...(outcome.usage.memory_peak_bytes === null
      ? []
      : [`${sizeText(outcome.usage.memory_peak_bytes)} of memory at most`]),
  ];
  const { enforcement } = outcome;
  const lines = [
    `${mark} ${paint('strong', outcome.status.replace('_', ' '))}  ${printable(request.script.name)}${request.args.length > 0 ? ` ${request.args.map(printable).join(' ')}` : ''}`,
    ...(result.error_summary === null ? [] : [`  ${printable(result.error_summary)}`]),
    `  run       ${place.id}`,
    `  when      ${runner.timing.started_at}, took ${durationText(runner.timing.duration_ms)}`,
    `  ended     ${endingText(outcome.ending)}${outcome.reason === null ? '' : ` (${outcome.reason})`}; the script itself said: ${outcome.claimed_status ?? 'nothing that counts'}`,
    `  used      ${used.join(', ') || 'not measured'}`,
    `  inputs    ${request.inputs.length === 0 ? 'none' : request.inputs.map(({ name, bytes }) => `${printable(name)} (${sizeText(bytes)})`).join(', ')}`,
    '',
    `  ${paint('strong', 'bounds')}`,
    `    asked     profile ${request.requested.profile ?? '–'}, sandbox ${request.requested.sandbox ?? '–'}, isolation ${request.requested.isolation ?? '–'}, ${durationText(request.requested.timeout_ms)}, ${sizeText(request.requested.memory_bytes)}, ${request.requested.pids} processes`,
    `    enforced  ${boundsText(runner, [])}`,
    `              memory by ${enforcement.memory}, processes by ${enforcement.pids}, output by ${enforcement.output}, end by ${enforcement.kill}`.replaceAll(
      '_',
      ' ',
    ),
    ...outcome.observed.map(
      ({ what, held, note }) =>
        `    observed  ${held ? paint('good', '✓') : paint('bad', '✗')} ${what.replace('_', ' ')}: ${printable(note)}`,
    ),
    ...(runner.warnings ?? []).map(warning => `    ${paint('note', 'warning')}   ${printable(warning)}`),
    '',
    `  ${paint('strong', 'left behind')}`,
    ...outcome.streams.map(
      ({ name, bytes_total, bytes_kept, truncated, masked }) =>
        `    ${name}    ${sizeText(bytes_total)}${truncated ? `, ${sizeText(bytes_kept)} kept` : ''}${masked > 0 ? `, ${counted(masked, 'secret')} masked` : ''}`,
    ),
    ...result.artifacts
      .slice(0, FILES_SHOWN)
      .map(({ path: file, bytes }) => `    ${printable(file)}  ${paint('faint', sizeText(bytes))}`),
    ...(result.artifacts.length > FILES_SHOWN ? [`    ${result.artifacts.length - FILES_SHOWN} more files`] : []),
    ...(outcome.salvaged
      ? [paint('note', '    salvaged: the run did not succeed, its files are kept all the same')]
      : []),
    ...outcome.cuts.map(({ what, bytes_total, bytes_kept }) =>
      paint(
        'note',
        `    cut       ${what.replace('_', ' ')}: ${sizeText(bytes_kept)} of ${sizeText(bytes_total)} kept`,
      ),
    ),
    ...outcome.replaced.map(what => paint('note', `    replaced  ${what.replace('_', ' ')}: not fit to be shown`)),
    '',
    `  evidence  ${folder}`,
  ];
  return `${lines.join('\n')}\n`;
}

const FILES_SHOWN = 50;

export async function pruneCommand({
  olderThan,
  dryRun,
  json,
}: {
  olderThan: number;
  dryRun?: true;
  json?: true;
}): Promise<number> {
  const removed = await pruneRuns(process.cwd(), olderThan, dryRun === true);
  if (json) stdout.write(`${printableJson({ removed, dry_run: dryRun === true })}\n`);
  else {
    for (const id of removed) stdout.write(`${dryRun ? 'would remove' : 'removed'}  ${id}\n`);
    stdout.write(`${counted(removed.length, 'run')} ${dryRun ? 'would be removed' : 'removed'}.\n`);
  }
  return 0;
}

export async function recoverCommand({ json }: { json?: true }): Promise<number> {
  const recovered = await recover(process.cwd());
  if (json) stdout.write(`${printableJson({ runs: recovered.map(({ id, became }) => ({ run_id: id, became })) })}\n`);
  else {
    for (const { id, became } of recovered) stdout.write(`${id}  ${BECAME[became]}\n`);
    if (recovered.length === 0) stdout.write('Every run here is finished.\n');
  }
  return 0;
}

const BECAME = {
  recovered: 'was interrupted; its folder is complete now, and says so',
  sealed: 'was finished already, only its journal was left',
  removed: 'had not begun; nothing is left of it',
  alive: 'is still running',
} as const;
