import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import type { AskAgainOptions } from '../../verbs/ask-again.ts';
import { compareRuns } from '../../verbs/compare.ts';
import type { Format } from '../../verbs/formats.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { damageWarning, isPackAway, runsNotHere, reportSubject, writeReports } from '../../verbs/report.ts';
import { pageWarning, runPageOf, writePage } from '../../verbs/run-pages.ts';
import { terminalText } from '../../verbs/terminal.ts';
import { nextText } from '../text/compare-next.ts';
import { gateOption } from '../text/gate-word.ts';
import { headerOf } from '../options/headers.ts';
import { interruptions } from '../options/interruptions.ts';
import { judgementJson, judgementLine } from '../text/judgement-text.ts';
import { type LimitFlags, limitsFromFlags } from '../options/limit-flags.ts';
import { stderr, stdout } from '../text/out.ts';
import { addStepSummary } from '../text/step-summary.ts';
import { paintFor } from '../text/paint.ts';
import { countText } from '../text/units.ts';
import { tracingHere } from '../options/tracing.ts';
import { namedKey } from '../options/variables.ts';

export interface CompareFlags extends LimitFlags {
  readonly gate?: string;
  readonly allowRemoved?: true;
  readonly allowWeakened?: true;
  readonly format?: readonly Format[];
  readonly cases?: string;
  readonly out?: string;
  readonly rejudge?: true;
  readonly again?: true;
  readonly againTrials?: number;
  readonly againTime?: number;
  readonly againCost?: number;
  readonly baseUrl?: string;
  readonly baselineUrl?: string;
  readonly script?: string;
  readonly baselineScript?: string;
  readonly target?: string;
  readonly baselineTarget?: string;
  readonly policy?: string;
  readonly dir?: string;
  readonly header?: readonly string[];
  readonly key?: string;
  readonly allPairs?: true;
  readonly name?: readonly string[];
  readonly json?: true;
}

export async function compareCommand(baseline: string, candidate: string, flags: CompareFlags): Promise<number> {
  if (flags.allPairs || flags.name)
    throw new Fault('usage', '--all-pairs and --name apply to three or more runs. Name another run, or omit them.');
  const interrupt = interruptions();
  const tracing = flags.again && (await tracingHere());
  try {
    const formats = flags.format ?? ['html'];
    const limits = limitsFromFlags(flags);
    const { comparison, folder, files, judgements, keyId, againFlags } = await compareRuns({
      ...namedKey(),
      baseline,
      candidate,
      formats: formats.filter(format => format !== 'terminal'),
      ...gateOption(flags.gate),
      ...(limits && { limits }),
      ...(flags.allowRemoved && { allowRemoved: true }),
      ...(flags.allowWeakened && { allowWeakened: true }),
      ...(flags.cases !== undefined && { cases: flags.cases }),
      ...(flags.out !== undefined && { out: flags.out }),
      ...(flags.rejudge && { rejudge: true }),
      ...againOf(flags, tracing?.tracer),
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
      stdout.write(terminalText({ comparison }, paintFor(1)));
      for (const file of Object.values(files)) stderr.write(`  report  ${printable(here(file))}\n`);
      stdout.write(nextText(comparison, { baseline, candidate, againFlags }));
    }
    addStepSummary({ comparison, folders: { baseline: [], new: [] } });
    return interrupt.exit() ?? comparison.exit_code;
  } finally {
    await closeLauncher();
    await tracing?.end();
    interrupt.end();
  }
}

function againOf(flags: CompareFlags, tracer: AskAgainOptions['tracer']): { again?: AskAgainOptions } {
  const { again, againTrials, againTime, againCost } = flags;
  const { baseUrl, baselineUrl, script, baselineScript, target, baselineTarget, policy, dir } = flags;
  const given = { maxTrials: againTrials, maxMs: againTime, maxCostUsd: againCost };
  const targets = { baseUrl, baselineUrl, script, baselineScript, target, baselineTarget, policy, dir };
  const said = Object.entries({ ...given, ...targets }).filter(([, value]) => value !== undefined);
  if (!again) {
    if (said.length === 0 && flags.header === undefined) return {};
    throw new Fault('usage', 'Targets and budgets apply only when cases run again. Add --again.');
  }
  const paint = paintFor(2);
  return {
    again: {
      ...Object.fromEntries(said),
      ...(tracer && { tracer }),
      headers: (flags.header ?? []).map(headerOf),
      variable: name => process.env[name],
      environment: process.env,
      onRound: ({ round, cases, sides }) =>
        stderr.write(
          `  running again  round ${round}: ${countText(cases, 'case')}, ${sides === 'both' ? 'both sides' : 'candidate only'}\n`,
        ),
      onWarning: sentence => stderr.write(`${paint('note', 'warning')}: ${sentence}\n`),
    },
  };
}

export interface ReportFlags {
  readonly format?: readonly Format[];
  readonly cases?: string;
  readonly out?: string;
  readonly baseline?: string;
  readonly key?: string;
  readonly json?: true;
}

export async function reportCommand(word: string, flags: ReportFlags): Promise<number> {
  const interrupt = interruptions();
  try {
    const { out, cases, key, baseline } = flags;
    const options = { out, cases, key, baseline, ...namedKey(), signal: interrupt.signal };
    const small = await runPageOf(word, process.cwd(), options);
    if (small) {
      writePageOnly(small, flags);
      return interrupt.exit() ?? 0;
    }
    const { subject, folder, judgement } = await reportSubject(word, process.cwd(), options);
    if (!flags.json) stdout.write(judgementLine([judgement], paintFor(1)));
    const formats = flags.format ?? ['html'];
    const files = writeReports(
      folder,
      subject,
      formats.filter(format => format !== 'terminal'),
    );
    const relative = Object.entries(files).map(([format, file]) => [format, here(file)] as const);
    if (flags.json) {
      const document = { reports: Object.fromEntries(relative), judgement: judgementJson(judgement) };
      stdout.write(`${printableJson(document)}\n`);
    } else {
      if (formats.includes('terminal')) stdout.write(terminalText(subject, paintFor(1)));
      for (const [, file] of relative) stdout.write(`${printable(file)}\n`);
    }
    const warning = damageWarning(subject);
    if (warning !== undefined) stderr.write(`${paintFor(2)('note', 'warning')}: ${warning}\n`);
    const gone = formats.includes('html') ? runsNotHere(subject) : [];
    if (gone.length > 0) stderr.write(`${paintFor(2)('note', 'warning')}: ${notHereText(gone)}\n`);
    if (formats.includes('html') && isPackAway(subject))
      stderr.write(`${paintFor(2)('note', 'warning')}: ${PACK_AWAY}\n`);
    addStepSummary(subject);
    return interrupt.exit() ?? 0;
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}

/** Agent, script and intent runs have a page and no other report. */
function writePageOnly({ page, folder }: NonNullable<Awaited<ReturnType<typeof runPageOf>>>, flags: ReportFlags): void {
  const other = flags.format?.find(format => format !== 'html');
  if (other !== undefined)
    throw new Fault(
      'usage',
      `This run has no ${other} report, only an HTML page. For its data, run proctor show --json.`,
    );
  const file = here(writePage(folder, page));
  const warning = pageWarning(page);
  if (warning !== undefined) stderr.write(`${paintFor(2)('note', 'warning')}: ${warning}\n`);
  stdout.write(flags.json ? `${printableJson({ reports: { html: file } })}\n` : `${printable(file)}\n`);
}

function notHereText(ids: readonly string[]): string {
  const named = ids.slice(0, NAMED_MAX).map(printable).join(', ');
  const more = ids.length > NAMED_MAX ? ` and ${ids.length - NAMED_MAX} more` : '';
  const runs = ids.length === 1 ? 'The run' : 'The runs';
  return `${runs} ${named}${more} ${ids.length === 1 ? 'is' : 'are'} not available, so the report does not show ${ids.length === 1 ? 'its' : 'their'} events and answers. Run proctor compare with the run folders to get a complete report.`;
}

const PACK_AWAY =
  'Proctor cannot find the accepted baseline and its pack, so the report does not show its answers. Name the file with --baseline.';

const NAMED_MAX = 5;

function here(file: string): string {
  return path.relative(process.cwd(), file);
}
