import { printable, printableJson } from '../../base/printable.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { lineDiff } from '../../verbs/line-diff.ts';
import { type Resent, resendCase } from '../../verbs/resend.ts';
import { headerOf } from '../options/headers.ts';
import { interruptions } from '../options/interruptions.ts';
import { stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { exitOfStopped } from '../text/refusal.ts';
import { durationText } from '../text/units.ts';
import { namedKey } from '../options/variables.ts';

interface Flags {
  readonly baseUrl?: string;
  readonly script?: string;
  readonly target?: string;
  readonly header?: readonly string[];
  readonly timeout?: number;
  readonly json?: true;
}

export async function resendCommand(run: string, caseId: string, flags: Flags): Promise<number> {
  const interrupt = interruptions();
  try {
    const resent = await resendCase({
      ...namedKey(),
      run,
      caseId,
      headers: (flags.header ?? []).map(headerOf),
      signal: interrupt.signal,
      variable: name => process.env[name],
      ...(flags.baseUrl !== undefined && { baseUrl: flags.baseUrl }),
      ...(flags.script !== undefined && { script: flags.script }),
      ...(flags.target !== undefined && { target: flags.target, environment: process.env }),
      ...(flags.timeout !== undefined && { timeoutMs: flags.timeout }),
    });
    if (flags.json) stdout.write(`${printableJson(asJson(resent))}\n`);
    else stdout.write(resentText(resent, paintFor(1)));
    return interrupt.exit() ?? (resent.difference ? 1 : 0);
  } catch (error) {
    return exitOfStopped(error, interrupt.exit(), flags.json === true);
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}

function asJson({ runId, caseId, target, latencyMs, now, difference }: Resent): object {
  return {
    run_id: runId,
    case_id: caseId,
    target,
    latency_ms: latencyMs,
    same: difference === undefined,
    difference: difference
      ? {
          kind: difference.kind,
          says: `${difference.says}.`,
          recorded_at: difference.baselineAt,
          now_at: difference.newAt,
        }
      : null,
    answer: now,
  };
}

function resentText({ caseId, target, latencyMs, recorded, now, difference }: Resent, paint: Paint): string {
  const mark = difference ? paint('bad', '≠') : paint('good', '=');
  const state = difference ? 'different answer' : 'same answer';
  const lines = [
    `${mark} ${paint('strong', state)}  ${printable(caseId)}, ${printable(target)}, ${durationText(latencyMs)}`,
    ...(difference ? [`  ${printable(difference.says)}.`] : []),
    ...(difference?.baselineAt
      ? [paint('faint', `  recorded ${difference.baselineAt}, now ${difference.newAt ?? 'nothing'}`)]
      : []),
    ...(now.runner_failure ? [`  ${printable(now.runner_failure.error_message ?? now.runner_failure.class)}`] : []),
  ];
  const diff = lineDiff(outputOf(recorded), outputOf(now));
  for (const { sign, text } of diff) {
    lines.push(
      sign === ' '
        ? paint('faint', `    ${printable(text)}`)
        : paint(sign === '-' ? 'bad' : 'good', `  ${sign} ${printable(text)}`),
    );
  }
  return `${lines.join('\n')}\n`;
}

function outputOf({ final_output: output }: Resent['now']): string {
  if (!output) return '';
  return typeof output.content === 'string' ? output.content : JSON.stringify(output.content, null, 2);
}
