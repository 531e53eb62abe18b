import path from 'node:path';
import { printable } from '../../base/printable.ts';
import type { ShownAgent } from '../../verbs/show-agent.ts';
import { checkLines } from './check-text.ts';
import { claimLines, diffLines, leftRunningLines, policyLines, reviewLines, workspaceLines } from './agent-text.ts';
import { doorLines } from './door-text.ts';
import { judgementJson } from './judgement-text.ts';
import type { Paint } from './paint.ts';
import {
  contextLines,
  credentialText,
  endingInBrief,
  evidenceLines,
  headJson,
  isNews,
  limitClaimLines,
  limitsText,
  logLines,
  maskingLines,
  baseLines,
  mountLines,
  openText,
  recoveredLines,
  sampledText,
  sandboxText,
  untestedText,
} from './run-text.ts';
import { timelineLines } from './timeline-text.ts';
import { countText, durationText, shortText, sizeText } from './units.ts';

export function agentJson(shown: ShownAgent): object {
  const { request, result, outcome, runner, policy, finalText, log } = shown;
  const { timeline, diff, needsReview, evaluation, judgement, workspace } = shown;
  return {
    ...headJson('agent', shown),
    request,
    result,
    runner,
    outcome,
    policy,
    final_response: finalText ?? null,
    timeline: {
      moments: timeline.moments.map(({ atMs, tookMs, exitCode, ...moment }) => ({
        at_ms: atMs,
        ...moment,
        took_ms: tookMs,
        exit_code: exitCode,
      })),
      omitted: timeline.omitted,
      calls: timeline.calls,
      denials: timeline.denials,
    },
    diff: diff ?? null,
    needs_review: needsReview ?? null,
    workspace: workspace ?? null,
    flags: evaluation?.flags ?? null,
    checks: shown.checks,
    judgement: judgement ? judgementJson(judgement) : null,
    ...(log && { log }),
  };
}

export function agentText(shown: ShownAgent, paint: Paint): string {
  const { place, outcome, timeline, evaluation, diff, needsReview, policy, workspace } = shown;
  const folder = printable(path.relative(process.cwd(), place.folder) || '.');
  if (!outcome || shown.life !== 'finished') return unfinishedText(shown, folder, paint);
  const lines = [
    ...headLines(shown, outcome, paint),
    '',
    ...timelineLines(timeline, paint),
    ...lastWords(shown, paint),
    ...diffLines(diff, paint),
    ...workspaceLines(workspace, paint),
    ...reviewLines(needsReview, paint),
    ...(shown.checks.length === 0 ? [] : ['', `  ${paint('strong', 'checks')}`, ...checkLines(shown.checks, paint)]),
    ...claimLines(evaluation?.flags, paint),
    ...(policy ? policyLines(policy, paint) : []),
    ...boundLines(shown, outcome, paint),
    ...leftLines(outcome, paint),
    ...maskingLines(outcome.masking, paint),
    ...logLines(shown),
    '',
    ...evidenceLines(shown, folder, paint),
  ];
  return `${lines.join('\n')}\n`;
}

type Outcome = NonNullable<ShownAgent['outcome']>;

function unfinishedText({ place, life, plan, timeline }: ShownAgent, folder: string, paint: Paint): string {
  const lines = [
    `${paint('strong', printable(place.id))}  ${openText(life)}`,
    ...(plan ? [`  agent     ${nameOf(plan.agent)}`, `  task      ${taskText(plan.asked.rendered_task_text)}`] : []),
    ...(timeline.moments.length > 0 ? ['', ...timelineLines(timeline, paint), ''] : []),
    `  evidence  ${folder}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** `claude 2.1.325`. */
function nameOf({ family, version }: Pick<Outcome['agent'], 'family' | 'version'>): string {
  return `${family.replace(/_cli$/, '')} ${printable(version)}`;
}

function headLines({ place, request, metadata, policy }: ShownAgent, outcome: Outcome, paint: Paint): string[] {
  const { termination, reason, detail, agent, ending, api_status } = outcome;
  const isGood = termination === 'completed';
  const isAgainst = isGood && (policy?.violations.length ?? 0) > 0;
  const mark = isGood && !isAgainst ? paint('good', '✓') : paint('bad', '✗');
  const why = isGood ? '' : `  ${reason.replaceAll('_', ' ')}${api_status === null ? '' : ` (${api_status})`}`;
  const untested = agent.untested ? paint('note', `  ${untestedText(agent)}`) : '';
  const took = Date.parse(metadata?.ended_at ?? '') - Date.parse(metadata?.started_at ?? '');
  return [
    `${mark} ${paint('strong', termination.replace('_', ' '))}${isAgainst ? ', with policy violations' : ''}  ${nameOf(agent)}${why}${untested}`,
    ...(detail === null ? [] : [`  ${printable(shortText(detail, DETAIL_UNITS_MAX))}`]),
    ...recoveredLines(outcome.recovered, paint),
    `  run       ${printable(place.id)}`,
    ...(request ? [`  task      ${taskText(request.rendered_task_text)}`] : []),
    `  when      ${metadata?.started_at ?? 'unknown'}${Number.isNaN(took) ? '' : `, took ${durationText(took)}`}`,
    `  ended     ${endingInBrief(ending)}`,
    ...leftRunningLines(outcome.left_running, paint),
    `  used      ${usedBy(outcome)}`,
    ...contextLines(outcome.project_context),
    ...baseLines(outcome.base),
    ...mountLines(outcome.mounts),
    `  model     ${modelText(outcome)}`,
    ...doorLines(outcome.model_access, paint),
    ...(outcome.model_access.difference === null
      ? []
      : [`            ${paint('note', printable(shortText(outcome.model_access.difference, DETAIL_UNITS_MAX)))}`]),
  ];
}

const DETAIL_UNITS_MAX = 500;

/** The first line of the task, and the number of further lines. */
function taskText(task: string): string {
  const lines = task.trim().split('\n');
  const more = lines.length === 1 ? '' : `  (${countText(lines.length - 1, 'more line')})`;
  return `${printable(shortText(lines[0] ?? '', 100))}${more}`;
}

function usedBy({ reported, usage }: Outcome): string {
  const { turns, input_tokens, cached_input_tokens, output_tokens, cost_usd } = reported;
  const cached = cached_input_tokens ? ` (${cached_input_tokens.toLocaleString('en-US')} cached)` : '';
  const said = [
    ...(turns === null ? [] : [countText(turns, 'turn')]),
    ...(input_tokens === null ? [] : [`${countText(input_tokens, 'token')} in${cached}`]),
    ...(output_tokens === null ? [] : [`${output_tokens.toLocaleString('en-US')} out`]),
    ...(cost_usd === null ? [] : [`$${cost_usd.toFixed(cost_usd < 1 ? 4 : 2)}`]),
    ...(usage.cpu_ms === null ? [] : [`${durationText(usage.cpu_ms)} of CPU time`]),
    ...(usage.memory_peak_bytes === null ? [] : [`${sizeText(usage.memory_peak_bytes)} peak memory`]),
    ...sampledText(usage),
    ...(usage.forks_denied ? [`hit the process limit ${countText(usage.forks_denied, 'time')}`] : []),
  ];
  return said.join(', ') || 'not measured';
}

function modelText({ agent, model_access: { mode, requests, failures, credential }, recovered }: Outcome): string {
  const name = agent.model === null ? 'unnamed' : printable(agent.model);
  if (mode === 'none') return `${name}, no access`;
  if (recovered?.unknown.includes('requests')) return `${name}, ${HOW[mode]}: number of requests unknown`;
  const failed = failures > 0 ? [`${failures} failed`] : [];
  return `${name}, ${HOW[mode]}: ${[countText(requests, 'request'), ...failed, ...credentialText({ credential })].join(', ')}`;
}

const HOW = { live: 'live', record: 'live and recorded', replay: 'replayed from a recording' } as const;

function lastWords({ finalText }: ShownAgent, paint: Paint): string[] {
  if (finalText === undefined) return ['', `  ${paint('strong', 'response')}  none`];
  const lines = finalText.trim().split('\n');
  return [
    '',
    `  ${paint('strong', 'response')}`,
    ...lines.slice(0, WORDS_LINES_MAX).map(line => `    ${printable(shortText(line, WORDS_UNITS_MAX))}`.trimEnd()),
    ...(lines.length > WORDS_LINES_MAX
      ? [paint('faint', `    ${countText(lines.length - WORDS_LINES_MAX, 'more line')}`)]
      : []),
  ];
}

const WORDS_LINES_MAX = 12;
const WORDS_UNITS_MAX = 200;

function boundLines({ runner, metadata }: ShownAgent, outcome: Outcome, paint: Paint): string[] {
  const { clocks, observed, enforcement, limits, turn_limit } = outcome;
  const clock = [
    durationText(clocks.timeout_ms),
    `${durationText(clocks.idle_timeout_ms)} without progress`,
    `${durationText(clocks.tool_idle_timeout_ms)} while a tool runs`,
    `${durationText(clocks.grace_ms)} to exit after its last line`,
  ];
  return [
    '',
    `  ${paint('strong', 'limits')}`,
    ...(runner
      ? [`    sandbox   ${sandboxText(runner, observed)}`, `    allowed   ${limitsText(runner, limits, enforcement)}`]
      : [`    sandbox   no record: ${printable(metadata?.runner_record_absent ?? 'unknown')}`]),
    ...limitClaimLines(enforcement).map(line => `    ${line}`),
    `    clocks    ${clock.join(', ')}`,
    ...(turn_limit
      ? [`    turns     at most ${countText(turn_limit.max, 'turn')}, counted by ${counter(turn_limit, outcome)}`]
      : []),
    ...observed
      .filter(({ held }) => !held)
      .map(({ what, note }) => `    probe     ${paint('bad', '✗')} ${what.replace('_', ' ')}: ${printable(note)}`),
    ...(runner?.warnings ?? [])
      .filter(isNews)
      .map(warning => `    ${paint('note', 'warning')}   ${printable(warning)}`),
  ];
}

function counter({ enforced_by }: NonNullable<Outcome['turn_limit']>, { agent }: Outcome): string {
  return enforced_by === 'proctor' ? 'Proctor' : agent.family.replace(/_cli$/, '');
}

function leftLines({ streams, lines, events }: Outcome, paint: Paint): string[] {
  const odd = [
    ...(lines.unknown > 0 ? [`${lines.unknown} of an unknown type`] : []),
    ...(lines.broken > 0 ? [`${lines.broken} broken`] : []),
    ...(lines.oversized > 0 ? [`${lines.oversized} too long`] : []),
  ];
  const said = streams.map(({ name, bytes_total, bytes_kept, truncated, masked }) => {
    const cut = truncated ? `, ${sizeText(bytes_kept)} kept` : '';
    const hidden = masked > 0 ? `, ${countText(masked, 'secret')} masked` : '';
    return `    ${name}    ${sizeText(bytes_total)}${cut}${hidden}`;
  });
  return [
    '',
    `  ${paint('strong', 'output')}`,
    ...said,
    `    stream    ${countText(lines.total, 'line')}${odd.length > 0 ? `, ${odd.join(', ')}` : ''}; ${countText(events, 'event')} in the transcript`,
  ];
}
