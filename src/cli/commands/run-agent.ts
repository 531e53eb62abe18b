import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { printable, printableJson } from '../../base/printable.ts';
import type { TranscriptLine } from '../../contracts/agent-step/reading.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { type AgentRunResult, runAgent, type RunAgentOptions } from '../../verbs/run-agent.ts';
import { leftRunningLines } from '../text/agent-text.ts';
import { areFine, checkLines } from '../text/check-text.ts';
import { checkOf } from '../options/check-option.ts';
import { refusalLines } from '../text/door-text.ts';
import { interruptions } from '../options/interruptions.ts';
import { tracingHere } from '../options/tracing.ts';
import { taskOf } from '../options/task.ts';
import { stderr, stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { exitOfStopped } from '../text/refusal.ts';
import {
  baseLines,
  contextLines,
  credentialText,
  endingInBrief,
  isNews,
  limitsText,
  mountLines,
  sandboxText,
  sealedText,
  untestedText,
  WAITING,
} from '../text/run-text.ts';
import { eventText } from '../text/transcript-text.ts';
import { countText, durationText } from '../text/units.ts';
import { mountOf } from '../options/mounts.ts';
import { namedKey, variables } from '../options/variables.ts';

export interface RunAgentFlags {
  readonly agent: string;
  readonly task?: string;
  readonly taskFile?: string;
  readonly promptRef?: string;
  readonly dir?: string;
  readonly repository?: string;
  readonly files?: string;
  readonly setup?: string;
  readonly policy: string;
  readonly allowPath?: readonly string[];
  readonly forbidPath?: readonly string[];
  readonly forbid?: readonly string[];
  readonly timeout?: number;
  readonly idleTimeout?: number;
  readonly model?: string;
  readonly maxTurns?: number;
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCost?: number;
  readonly prices?: string;
  readonly cpus?: number;
  readonly secret?: readonly string[];
  readonly modelMode: 'live' | 'record' | 'replay';
  readonly recording?: string;
  readonly login?: 'env' | 'claude' | 'codex';
  readonly allowUntestedVersion?: true;
  readonly allowDirty?: true;
  readonly base?: string;
  readonly mount?: readonly string[];
  readonly projectContext: boolean;
  readonly keepCredentials?: true;
  readonly check?: readonly string[];
  readonly checks?: string;
  readonly attempts?: number;
  readonly json?: true;
}

export async function runAgentCommand(flags: RunAgentFlags): Promise<number> {
  const paint = paintFor(2);
  const interrupt = interruptions();
  const tracing = await tracingHere();
  try {
    const options: RunAgentOptions = {
      ...agentOptionsOf(flags),
      signal: interrupt.signal,
      onEvent: line => show(line, paint),
      onWarning: sentence => stderr.write(`${paint('note', 'warning')}: ${printable(sentence)}\n`),
      onWait: () => stderr.write(paint('faint', WAITING)),
    };
    const result = await (tracing ? tracing.agent(runAgent, options) : runAgent(options));
    if (flags.json) stdout.write(`${printableJson(asJson(result))}\n`);
    else {
      if (result.finalResponse !== null) stdout.write(`${shownText(result.finalResponse)}\n`);
      stderr.write(summary(result, paint));
    }
    return interrupt.exit() ?? (isFine(result) ? 0 : 1);
  } catch (error) {
    return exitOfStopped(error, interrupt.exit(), flags.json === true);
  } finally {
    await closeLauncher();
    await tracing?.end();
    interrupt.end();
  }
}

/** The options that the flags state, for one run or for each of several attempts. */
export function agentOptionsOf(flags: RunAgentFlags): RunAgentOptions {
  const given = {
    promptReference: flags.promptRef,
    dir: flags.dir,
    repository: flags.repository,
    files: flags.files,
    setup: flags.setup === undefined ? undefined : { command: flags.setup },
    timeoutMs: flags.timeout,
    idleMs: flags.idleTimeout,
    model: flags.model,
    maxTurns: flags.maxTurns,
    maxRequests: flags.maxRequests,
    maxTokens: flags.maxTokens,
    maxCostUsd: flags.maxCost,
    prices: flags.prices,
    cpus: flags.cpus,
    recording: flags.recording,
    login: flags.login,
    allowUntestedVersion: flags.allowUntestedVersion,
    allowDirty: flags.allowDirty,
    base: flags.base,
    mounts: flags.mount?.map(mountOf),
    projectContext: flags.projectContext,
    keepCredentials: flags.keepCredentials,
    checksFile: flags.checks,
  };
  return {
    ...defined(given),
    ...namedKey(),
    agent: flags.agent,
    task: taskOf(flags),
    policy: flags.policy,
    overrides: overridesOf(flags),
    modelMode: flags.modelMode,
    secrets: variables(flags.secret ?? [], false),
    checks: (flags.check ?? []).map(checkOf),
    environment: process.env,
  };
}

function overridesOf({ allowPath, forbidPath, forbid }: RunAgentFlags): NonNullable<RunAgentOptions['overrides']> {
  return {
    allowed_paths: allowPath ? [...allowPath] : null,
    forbidden_paths: forbidPath ? [...forbidPath] : null,
    forbidden_operations: forbid ? [...forbid] : null,
  };
}

function show(line: TranscriptLine, paint: Paint): void {
  const text = eventText(line, paint);
  if (text !== undefined) stderr.write(`${text}\n`);
}

function isFine({ termination, violations, checks }: AgentRunResult): boolean {
  return termination === 'completed' && violations.length === 0 && areFine(checks);
}

/** Whether `proctor apply` would accept it. A denied tool call has no effect, so it does not count. */
function isToApply({ termination, violations, checks }: AgentRunResult): boolean {
  return termination === 'completed' && areFine(checks) && !violations.some(({ hard }) => hard);
}

function shownText(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

function asJson(result: AgentRunResult): object {
  return {
    kind: result.kind,
    run_id: result.runId,
    folder: path.relative(process.cwd(), result.folder),
    termination: result.termination,
    reason: result.reason,
    message: result.message,
    ending: result.ending,
    correlation_id: result.correlationId,
    agent: result.agent,
    transcript_path: result.transcriptPath,
    final_response_path: result.finalResponsePath,
    final_response: result.finalResponse,
    policy: result.policy,
    violations: result.violations,
    flags: result.flags,
    checks: result.checks,
    denials: result.denials,
    changes: result.changes,
    needs_review: result.needsReview,
    left_running: result.leftRunning,
    usage: result.reported,
    model_access: result.modelAccess,
    project_context: result.projectContext ?? null,
    mounts: result.mounts ?? [],
    base: result.base ?? null,
    sandbox: typeof result.runner === 'string' ? null : result.runner.sandbox,
    limits: { ...result.limits, ...result.clocks },
    turn_limit: result.turnLimit ?? null,
    limit_claims: result.enforcement.claims ?? [],
    warnings: result.warnings,
    duration_ms: result.durationMs,
    key_id: result.keyId,
  };
}

function summary(result: AgentRunResult, paint: Paint): string {
  const { termination, reason, agent, runner, violations, changes, policy } = result;
  // A violation that ended the run is listed below, with its class.
  const message = violations.some(one => one.message === result.message) ? null : result.message;
  const mark = isFine(result) ? paint('good', '✓') : paint('bad', '✗');
  const why = reason === 'ok' ? '' : ` (${reason})`;
  const name = agent.family.replace('_cli', '');
  const lines = [
    '',
    `${mark} ${paint('strong', termination)}${why}${againstText(result)}  ${name} ${printable(agent.version)}${agent.untested ? `, ${untestedText(agent)}` : ''}  ${endingInBrief(result.ending)}, ${durationText(result.durationMs)}`,
    ...(message === null ? [] : [`  ${printable(message)}`]),
    ...violations
      .slice(0, SHOWN_MAX)
      .map(
        ({ class: kind, message, hard }) =>
          `  ${paint(hard ? 'bad' : 'note', kind.replaceAll('_', ' '))}  ${printable(message)}`,
      ),
    ...(violations.length > SHOWN_MAX ? [`  ${countText(violations.length - SHOWN_MAX, 'more violation')}`] : []),
    ...result.flags.slice(0, SHOWN_MAX).map(({ message }) => `  ${paint('note', '⚠ claims')}  ${printable(message)}`),
    ...checkLines(result.checks, paint),
    `  policy    ${policy.policy_reference ?? 'custom'}: ${policy.execution_posture.replace('_', ' ')}, network ${policy.network_posture}, ${policy.approval_posture.replaceAll('_', ' ')}`,
    ...(typeof runner === 'string'
      ? []
      : [
          `  sandbox   ${sandboxText(runner, result.observed)}`,
          `  limits    ${limitsText(runner, result.limits, result.enforcement)}`,
        ]),
    ...contextLines(result.projectContext),
    ...baseLines(result.base),
    ...mountLines(result.mounts),
    `  used      ${usedText(result)}`,
    ...refusalLines(result.modelAccess, paint),
    ...result.warnings.filter(isNews).map(warning => `  ${paint('note', 'warning')}   ${printable(warning)}`),
    `  changes   ${changesText(result)}`,
    ...(result.needsReview.length === 0 ? [] : [`  ${paint('note', 'review')}    ${reviewText(result)}`]),
    ...leftRunningLines(result.leftRunning, paint),
    `  evidence  ${printable(path.relative(process.cwd(), result.folder))}`,
    paint(
      'faint',
      `            ${sealedText(result.keyId)} · proctor show latest${changes && changes.files > 0 && isToApply(result) ? ' · proctor apply latest' : ''}`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

const SHOWN_MAX = 10;

function againstText({ termination, violations }: AgentRunResult): string {
  return termination === 'completed' && violations.length > 0 ? ', with policy violations' : '';
}

function usedText({ reported, modelAccess }: AgentRunResult): string {
  const { turns, input_tokens, output_tokens, cost_usd } = reported;
  const parts = [
    ...(turns === null ? [] : [countText(turns, 'turn')]),
    ...(input_tokens === null
      ? []
      : [`${countText(input_tokens, 'token')} in, ${(output_tokens ?? 0).toLocaleString('en-US')} out`]),
    ...(cost_usd === null ? [] : [`${cost_usd.toFixed(4)} USD, as reported by the agent`]),
    ...(modelAccess.mode === 'none'
      ? ['no model access']
      : [
          `${countText(modelAccess.requests, 'request')} to the model (${[modelAccess.mode, ...credentialText(modelAccess)].join(', ')})`,
        ]),
  ];
  return parts.join(', ');
}

/** The first file that `proctor apply` requires you to name, and why. */
function reviewText({ needsReview }: AgentRunResult): string {
  const [first] = needsReview;
  const more = needsReview.length > 1 ? `, and ${countText(needsReview.length - 1, 'more file')}` : '';
  return `${printable(first?.path ?? '')} needs review before you apply it: ${printable(first?.reason ?? '')}${more}`;
}

function changesText({ changes }: AgentRunResult): string {
  if (!changes) return 'unknown';
  const { files, commits } = changes;
  if (files === 0 && commits === 0) return 'none';
  return `${countText(files, 'file')}${commits > 0 ? `, ${countText(commits, 'commit')}` : ''}`;
}
