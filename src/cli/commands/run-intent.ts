import path from 'node:path';
import { isatty } from 'node:tty';
import { CommanderError } from 'commander';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { runErrorOf } from '../../verbs/run-error.ts';
import { type IntentRunResult, runIntent, type RunIntentOptions } from '../../verbs/run-intent.ts';
import { interruptions } from '../options/interruptions.ts';
import { tracingHere } from '../options/tracing.ts';
import { LiveText } from '../text/live.ts';
import { stderr, stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { sealedText, WAITING } from '../text/run-text.ts';
import { eventText } from '../text/transcript-text.ts';
import { namedKey } from '../options/variables.ts';

export interface RunIntentFlags {
  readonly mode?: 'plan-only' | 'execute-sandbox';
  readonly policy?: string;
  readonly answers?: string;
  readonly modelMode?: 'none' | 'record' | 'replay';
  readonly recording?: string;
  readonly planner?: 'claude' | 'codex';
  readonly keepSandbox?: true;
  readonly keepCredentials?: true;
  readonly copyOutput?: string;
  readonly internal?: true;
  readonly json?: true;
}

/** Writes the canonical result or a run error to standard output, and nothing else, not even a line feed. */
export async function runIntentCommand(intent: string, flags: RunIntentFlags): Promise<number> {
  const paint = paintFor(2);
  const live = { stdout: new LiveText(stderr.write), stderr: new LiveText(stderr.write) };
  const interrupt = interruptions();
  const { internal: _, json: __, copyOutput, ...asked } = flags;
  const options: RunIntentOptions = {
    ...asked,
    ...namedKey(),
    ...(copyOutput !== undefined && { copyOutputTo: copyOutput }),
    intent,
    environment: process.env,
    signal: interrupt.signal,
    onPlannerEvent: line => {
      const text = eventText(line, paint);
      if (text !== undefined) stderr.write(`${text}\n`);
    },
    onOutput: (stream, bytes) => live[stream].take(bytes),
    onWarning: sentence => stderr.write(`${paint('note', 'warning')}: ${sentence}\n`),
    onWait: () => stderr.write(paint('faint', WAITING)),
  };
  const tracing = await tracingHere();
  try {
    const answer = await (tracing ? tracing.intent(runIntent, options) : runIntent(options));
    live.stdout.end();
    live.stderr.end();
    const result = flags.internal ? { ...answer.result, ...answer.internal } : answer.result;
    stdout.write(canonicalize(result));
    stderr.write(summary(answer, intent, paint));
    return interrupt.exit() ?? (answer.result.decision.accepted ? 0 : 1);
  } catch (error) {
    const code = told(error);
    return interrupt.exit() ?? code;
  } finally {
    await closeLauncher();
    await tracing?.end();
    interrupt.end();
  }
}

/** Reports bad usage as a run error. Commander has already written the message to standard error. */
export function reportUsage(error: unknown): number {
  if (!(error instanceof CommanderError)) return told(error);
  stdout.write(canonicalize(runErrorOf(new Fault('usage', error.message.replace(/^error: /, '')))));
  stderr.write(afterAnswer());
  return 2;
}

/** The result ends without a line feed, so on a terminal the next text would continue its line. */
function afterAnswer(): string {
  return isatty(1) && isatty(2) ? '\n' : '';
}

/** Writes an error as a document to standard output and as a sentence to standard error. */
function told(error: unknown): number {
  const document = runErrorOf(error);
  stdout.write(canonicalize(document));
  stderr.write(`${afterAnswer()}error: ${printable(document.message)}\n`);
  // Only developers need the stack of an internal error.
  if (!(error instanceof Fault) && process.env['PROCTOR_DEBUG'])
    stderr.write(`${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  return 2;
}

function summary(
  { folder, result, keyId, internal, plannedBy }: IntentRunResult,
  intent: string,
  paint: Paint,
): string {
  const { kernel_result_kind: kind, decision, execution, clarify_questions = [], policy } = result;
  const mark = decision.accepted ? paint('good', '✓') : kind === 'CLARIFY' ? paint('note', '?') : paint('bad', '✗');
  // Output paths refer to the sandbox, so say where the files are.
  const taken = execution && execution.outputs.length > 0 ? ', outputs in output/' : '';
  const lines = [
    '',
    `${mark} ${paint('strong', kind)}  ${printable(path.basename(intent))}  ${decision.accepted ? 'accepted' : 'not accepted'}, policy ${policy.name}`,
    ...decision.reasons.slice(0, SHOWN_MAX).map(reason => `  ${printable(reason)}`),
    ...clarify_questions.slice(0, SHOWN_MAX).map(question => `  ${paint('note', '?')} ${printable(question)}`),
    ...(execution?.outputs ?? []).slice(0, SHOWN_MAX).map(({ path: file }) => `  output    ${printable(file)}`),
    ...(internal.sandbox_path === undefined ? [] : [`  kept      ${printable(shortPath(internal.sandbox_path))}`]),
    ...(plannedBy ? [`  planned   ${plannerText(plannedBy)}`] : []),
    `  evidence  ${printable(shortPath(folder))}`,
    ...(clarify_questions.length > 0
      ? [paint('faint', '            put the answers in a file, {"KEY": answer}, and run again with --answers FILE')]
      : [
          paint(
            'faint',
            `            ${sealedText(keyId)}${taken} · proctor show latest · proctor verify latest · proctor reproduce latest`,
          ),
        ]),
  ];
  return `${lines.join('\n')}\n`;
}

function plannerText({ agent, model, folder }: NonNullable<IntentRunResult['plannedBy']>): string {
  const name = `${agent.family.replace('_cli', '')} ${agent.version}`;
  return printable(`by ${name}${model === null ? '' : `, ${model}`}: ${shortPath(folder)}`);
}

function shortPath(file: string): string {
  return path.relative(process.cwd(), file);
}

const SHOWN_MAX = 20;
