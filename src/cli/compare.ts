import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { printable, printableJson } from '../base/printable.ts';
import { compareRuns } from '../tool/compare.ts';
import type { Format } from '../tool/formats.ts';
import { reportOf, runsNotHere, subjectOf, writeReports } from '../tool/report.ts';
import { closeLauncher } from '../tool/run-script.ts';
import { terminalText } from '../tool/terminal.ts';
import { type LimitFlags, limitsOf } from './limit-flags.ts';
import { interruptions } from './interruptions.ts';
import { judgementJson, judgementLine } from './judgement-text.ts';
import { stderr, stdout } from './out.ts';
import { paintFor } from './paint.ts';
import { namedKey } from './variables.ts';

export interface CompareFlags extends LimitFlags {
  readonly gate?: string;
  readonly allowRemoved?: true;
  readonly format?: readonly Format[];
  readonly out?: string;
  readonly again?: true;
  readonly key?: string;
  readonly json?: true;
}

export async function compareCommand(baseline: string, candidate: string, flags: CompareFlags): Promise<number> {
  const interrupt = interruptions();
  try {
    const formats = flags.format ?? ['html'];
    const limits = limitsOf(flags);
    const { comparison, folder, files, judgements, keyId } = await compareRuns({
      ...namedKey(),
      baseline,
      candidate,
      formats: formats.filter(format => format !== 'terminal'),
      ...gateOf(flags.gate),
      ...(limits && { limits }),
      ...(flags.allowRemoved && { allowRemoved: true }),
      ...(flags.out !== undefined && { out: flags.out }),
      ...(flags.again && { again: true }),
      ...(flags.key !== undefined && { key: flags.key }),
      signal: interrupt.signal,
    });
    if (flags.json) {
      const { cases: _, ...summary } = comparison;
      const relative = Object.entries(files).map(([format, file]) => [format, here(file)]);
      const made = { folder: here(folder), reports: Object.fromEntries(relative), key_id: keyId };
      stdout.write(`${printableJson({ ...made, judgements: judgements.map(judgementJson), ...summary })}\n`);
    } else {
      stdout.write(judgementLine(judgements, paintFor(1)));
      stdout.write(await terminalText({ comparison }, paintFor(1)));
      if (comparison.sides.baseline.trials === 0) stdout.write(MAKE_ONE);
      for (const file of Object.values(files)) stderr.write(`  report      ${printable(here(file))}\n`);
    }
    await addStepSummary({ comparison, folders: { baseline: [], new: [] } });
    return interrupt.exit() ?? comparison.exit_code;
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}

const MAKE_ONE = `
  To make a baseline, run the version that is known to be good, and accept it if it should be committed:
    proctor run suite CASES --base-url URL --as baseline
    proctor baseline accept baseline
`;

/** The name of a mode, or the file of a gate. */
function gateOf(word: string | undefined): { mode?: Mode; gate?: string } {
  if (word === undefined) return {};
  return MODES.has(word) ? { mode: word as Mode } : { gate: word };
}

type Mode = 'balanced' | 'proven' | 'strict';

const MODES: ReadonlySet<string> = new Set<Mode>(['balanced', 'proven', 'strict']);

export interface ReportFlags {
  readonly format?: readonly Format[];
  readonly out?: string;
  readonly key?: string;
  readonly json?: true;
}

export async function reportCommand(word: string, flags: ReportFlags): Promise<number> {
  const interrupt = interruptions();
  try {
    const { out, key } = flags;
    const options = { out, key, ...namedKey(), signal: interrupt.signal };
    const { subject, folder, judgement } = await subjectOf(word, process.cwd(), options);
    if (!flags.json) stdout.write(judgementLine([judgement], paintFor(1)));
    const formats = flags.format ?? ['html'];
    const files = await writeReports(
      folder,
      subject,
      formats.filter(format => format !== 'terminal'),
    );
    const relative = Object.entries(files).map(([format, file]) => [format, here(file)] as const);
    if (flags.json) {
      const document = { reports: Object.fromEntries(relative), judgement: judgementJson(judgement) };
      stdout.write(`${printableJson(document)}\n`);
    } else {
      if (formats.includes('terminal')) stdout.write(await terminalText(subject, paintFor(1)));
      for (const [, file] of relative) stdout.write(`${printable(file)}\n`);
    }
    const gone = formats.includes('html') ? runsNotHere(subject) : [];
    if (gone.length > 0) stderr.write(`${paintFor(2)('note', 'warning')}: ${notHereText(gone)}\n`);
    await addStepSummary(subject);
    return interrupt.exit() ?? 0;
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}

function notHereText(ids: readonly string[]): string {
  const named = ids.slice(0, NAMED_MAX).map(printable).join(', ');
  const more = ids.length > NAMED_MAX ? ` and ${ids.length - NAMED_MAX} more` : '';
  const runs = ids.length === 1 ? 'The run' : 'The runs';
  return `${runs} ${named}${more} cannot be found here, so the page shows no events and answers of theirs; proctor compare, given their folders, makes a whole one.`;
}

const NAMED_MAX = 5;

/** On GitHub, the page of the job shows what is written to this file. */
async function addStepSummary(subject: Parameters<typeof reportOf>[0]): Promise<void> {
  const { GITHUB_STEP_SUMMARY: file } = process.env;
  if (!file) return;
  const { pieces } = await reportOf(subject, 'md');
  try {
    appendFileSync(file, [...pieces].join(''));
  } catch {
    stderr.write('warning: The summary of the step could not be written.\n');
  }
}

function here(file: string): string {
  return path.relative(process.cwd(), file);
}
