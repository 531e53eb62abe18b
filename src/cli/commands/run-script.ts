import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { SCRIPT_LIMITS } from '../../contracts/script-limits.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { runScript, type RunScriptOptions, type ScriptRunResult } from '../../verbs/run-script.ts';
import { interruptions } from '../options/interruptions.ts';
import { tracingHere } from '../options/tracing.ts';
import { scriptLimitsFrom } from '../options/script-limit-flags.ts';
import { LiveText } from '../text/live.ts';
import { stderr, stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { exitOfStopped } from '../text/refusal.ts';
import { endingInBrief, limitsText, sandboxText, sealedText, WAITING } from '../text/run-text.ts';
import { countText, durationText, sizeText } from '../text/units.ts';
import { namedKey, variables } from '../options/variables.ts';

export interface RunScriptFlags {
  readonly input?: readonly string[];
  readonly env?: readonly string[];
  readonly secret?: readonly string[];
  readonly profile?: string;
  readonly sandbox?: 'none' | 'process';
  readonly isolation?: 'strict' | 'standard' | 'none';
  readonly copyOutput?: string;
  readonly keepCredentials?: true;
  readonly json?: true;
}

export async function runScriptCommand(
  script: string,
  args: readonly string[],
  flags: RunScriptFlags,
): Promise<number> {
  const paint = paintFor(2);
  // With --json, standard output contains only the JSON document.
  const live = { stdout: new LiveText((flags.json ? stderr : stdout).write), stderr: new LiveText(stderr.write) };
  const interrupt = interruptions();
  const { profile, sandbox, isolation, keepCredentials, copyOutput: copyOutputTo } = flags;
  const options: RunScriptOptions = {
    ...scriptLimitsFrom(flags),
    ...namedKey(),
    script,
    args,
    inputs: flags.input ?? [],
    env: variables(flags.env ?? [], true),
    secrets: variables(flags.secret ?? [], false),
    signal: interrupt.signal,
    onOutput: (stream, bytes) => live[stream].take(bytes),
    onWarning: sentence => stderr.write(`${paint('note', 'warning')}: ${sentence}\n`),
    onWait: () => stderr.write(paint('faint', WAITING)),
    ...defined({ profile, sandbox, isolation, keepCredentials, copyOutputTo }),
  };
  const tracing = await tracingHere();
  try {
    const result = await (tracing ? tracing.script(runScript, options) : runScript(options));
    live.stdout.end();
    live.stderr.end();
    if (flags.json) stdout.write(`${printableJson(asJson(result))}\n`);
    else stderr.write(summary(result, script, flags, paint));
    return interrupt.exit() ?? (result.status === 'succeeded' ? 0 : 1);
  } catch (error) {
    return exitOfStopped(error, interrupt.exit(), flags.json === true);
  } finally {
    await closeLauncher();
    await tracing?.end();
    interrupt.end();
  }
}

function asJson(result: ScriptRunResult): object {
  return {
    kind: result.kind,
    run_id: result.runId,
    folder: path.relative(process.cwd(), result.folder),
    status: result.status,
    ending: result.ending,
    reason: result.reason,
    message: result.message,
    correlation_id: result.correlationId,
    sandbox: result.runner.sandbox,
    limits: { ...result.runner.limits, ...result.limits },
    limit_claims: result.enforcement.claims ?? [],
    warnings: result.warnings,
    output: result.files,
    duration_ms: result.durationMs,
    key_id: result.keyId,
  };
}

function summary(result: ScriptRunResult, script: string, flags: RunScriptFlags, paint: Paint): string {
  const { status, message, files, runner, observed, limits, enforcement, warnings, durationMs } = result;
  const folder = path.relative(process.cwd(), result.folder);
  const mark = status === 'succeeded' ? paint('good', '✓') : paint('bad', '✗');
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const copied = flags.copyOutput === undefined ? '' : `, copied to ${printable(flags.copyOutput)}`;
  const hint = hintFor(result);
  const lines = [
    '',
    `${mark} ${paint('strong', status.replace('_', ' '))}  ${printable(path.basename(script))}  ${endingInBrief(result.ending)}, ${durationText(durationMs)}`,
    ...(message === null ? [] : [`  ${printable(message)}`]),
    ...(hint === undefined ? [] : [`  ${paint('note', 'hint')}      ${hint}`]),
    `  sandbox   ${sandboxText(runner, observed)}`,
    `  limits    ${limitsText(runner, limits, enforcement)}`,
    ...warnings.map(warning => `  ${paint('note', 'warning')}   ${printable(warning)}`),
    `  output    ${files.length === 0 ? 'no files' : `${countText(files.length, 'file')}, ${sizeText(bytes)}${copied}`}`,
    `  evidence  ${printable(folder)}`,
    paint('faint', `            ${sealedText(result.keyId)} · proctor show latest · proctor verify latest`),
  ];
  return `${lines.join('\n')}\n`;
}

/** Advice for the most common failures. */
function hintFor({ reason, interpreter, ending, forksDenied, limits }: ScriptRunResult): string | undefined {
  if (reason === null) return undefined;
  if (forksDenied > 0) return `The script reached its limit of ${limits.pids} processes. Raise it with --pids.`;
  if (reason === 'result_missing') {
    if (ending.how === 'exited' && ending.code !== 0) return "See the script's last output, above.";
    if (interpreter.startsWith('python')) return 'End the script with: import proctor_tool; proctor_tool.succeed()';
    if (interpreter === 'node') return 'End the script with: (await import(process.env.PROCTOR_TOOL)).succeed()';
    return "A script must write result.json. In a shell script: python3 -c 'import proctor_tool; proctor_tool.succeed()'";
  }
  return (
    HINTS[reason] ?? (reason.startsWith('script_') ? undefined : 'Run proctor show latest --internal for details.')
  );
}

const HINTS: Readonly<Record<string, string>> = {
  oom_killed: 'Allow more memory, such as --memory 2g. Files in the work folder count as memory.',
  wall_timeout: `Allow more time with --timeout, at most ${SCRIPT_LIMITS.timeoutMs.range[1]}.`,
  idle_timeout: 'Allow more time without output with --idle-timeout.',
  cpu_timeout: 'Allow more CPU time with --cpu-seconds.',
  artifact_limit_count: 'Allow more files with --max-files.',
  artifact_limit_total: 'Allow more bytes with --max-bytes.',
  artifact_limit_file: 'Allow more bytes with --max-bytes.',
  cancelled: 'Output from before the cancellation is kept.',
};
