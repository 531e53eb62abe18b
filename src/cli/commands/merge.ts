import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { type MergedRun, type MergeResult, mergeRuns } from '../../verbs/merge.ts';
import { interruptions } from '../options/interruptions.ts';
import { namedKey } from '../options/variables.ts';
import { stderr, stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { reportFault } from '../text/refusal.ts';
import { sealedText } from '../text/run-text.ts';
import { wordFor } from '../text/show-suite.ts';
import { countText, numberText } from '../text/units.ts';

interface MergeFlags {
  readonly partial?: true;
  readonly key?: readonly string[];
  readonly revoked?: readonly string[];
  readonly json?: true;
}

export async function mergeCommand(parts: readonly string[], flags: MergeFlags): Promise<number> {
  const paint = paintFor(2);
  const interrupt = interruptions();
  try {
    const result = await mergeRuns({
      parts,
      ...defined({ partial: flags.partial, keys: flags.key, revoked: flags.revoked }),
      ...namedKey(),
      cwd: process.cwd(),
      signal: interrupt.signal,
      onWarning: sentence => stderr.write(`${paint('note', 'warning')}: ${printable(sentence)}\n`),
    });
    if (flags.json) stdout.write(`${printableJson(mergeJson(result))}\n`);
    else stderr.write(result.runs.map(run => mergedText(run, result, paint)).join(''));
    return result.exitCode;
  } catch (error) {
    const code = error instanceof Fault ? (interrupt.exit() ?? EXIT_BY_FAULT[error.code]) : undefined;
    if (!(error instanceof Fault) || code === undefined) throw error;
    reportFault(error, flags.json === true);
    return code;
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}

/** Any other fault is bad usage or a machine fault, with exit code 2. */
const EXIT_BY_FAULT: Readonly<Record<string, number>> = { part_invalid: 1, parts_contradict: 1, parts_missing: 3 };

function mergeJson({ runs, keyId, exitCode }: MergeResult): object {
  return {
    kind: 'merge',
    ok: exitCode === 0,
    exit_code: exitCode,
    key_id: keyId,
    runs: runs.map(({ place, version, suite, repetition, cases, parts, missing, evaluation }) => ({
      run_id: place.id,
      folder: path.relative(process.cwd(), place.folder),
      version,
      suite: suite ?? null,
      repetition: { number: repetition.number, total: repetition.total },
      cases_total: cases,
      parts: parts.map(({ number, runId, sealSha256, shard, cases: count }) => ({
        number,
        run_id: runId,
        seal_sha256: sealSha256,
        shard: shard ?? null,
        cases: count,
      })),
      missing,
      judged: evaluation?.summary ?? null,
    })),
  };
}

function mergedText(run: MergedRun, { keyId }: MergeResult, paint: Paint): string {
  const { place, version, suite, repetition, cases, parts, missing, evaluation } = run;
  const lost = missing.reduce((sum, one) => sum + one.cases, 0);
  const head =
    lost === 0
      ? `${paint('good', '✓')} ${paint('strong', 'merged')}`
      : `${paint('note', '!')} ${paint('strong', 'merged in part')}`;
  const named = suite === undefined ? '' : `${printable(suite)}, `;
  const which = repetition.total > 1 ? `, repetition ${repetition.number} of ${repetition.total}` : '';
  const lines = [
    `${head}  ${named}${version}${which}: ${countText(cases, 'case')} of ${countText(parts.length, 'part')}${lost > 0 ? `, ${numberText(lost)} missing` : ''}`,
    ...parts.slice(0, PARTS_SHOWN).map(({ shard, runId, cases: count }) => {
      const name = shard ? `${shard.index}/${shard.total}` : 'part';
      return `  ${name.padEnd(9)} ${printable(runId)}, ${countText(count, 'case')}`;
    }),
    ...(parts.length > PARTS_SHOWN ? [`            ${countText(parts.length - PARTS_SHOWN, 'more part')}`] : []),
    evaluation
      ? `  judged    ${numberText(evaluation.summary.passed - evaluation.summary.unjudged)} of ${numberText(evaluation.summary.total)} passed`
      : `  judged    not yet, because cases have check scripts; run proctor report ${wordFor(place)}`,
    `  evidence  ${printable(path.relative(process.cwd(), place.folder))}`,
    paint(
      'faint',
      `            ${sealedText(keyId)} · proctor show ${wordFor(place)} · proctor compare · proctor report`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

const PARTS_SHOWN = 20;
