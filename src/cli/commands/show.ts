import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import { claimedText } from '../../contracts/script-outcome/claimed.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import type { ScriptRequest } from '../../contracts/script-request/shape.ts';
import type { Checker } from '../../contracts/seal/index.ts';
import type { ScriptResult } from '../../contracts/script-result/shape.ts';
import { attemptGroup, groupNamed } from '../../verbs/attempt-group.ts';
import { checkerIfUsable } from '../../verbs/keys.ts';
import { runFolderOf, type Shown, showRun } from '../../verbs/runs.ts';
import { showAgent } from '../../verbs/show-agent.ts';
import { showIntent } from '../../verbs/show-intent.ts';
import { showSuite } from '../../verbs/show-suite.ts';
import { attemptsJson, attemptsText } from '../text/attempts-text.ts';
import { judgementLine } from '../text/judgement-text.ts';
import { stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import {
  limitClaimLines,
  endingInBrief,
  evidenceLines,
  limitsText,
  logLines,
  maskingLines,
  openText,
  recoveredLines,
  sampledText,
  sandboxText,
  headJson,
  streamText,
} from '../text/run-text.ts';
import { agentJson, agentText } from '../text/show-agent.ts';
import { intentJson, intentText } from '../text/show-intent.ts';
import { suiteJson, suiteText } from '../text/show-suite.ts';
import { countText, durationText, sizeText } from '../text/units.ts';
import { namedKey } from '../options/variables.ts';

export async function showCommand(word: string, { json, internal }: { json?: true; internal?: true }): Promise<number> {
  const key = checkerIfUsable(process.cwd(), namedKey().signingKey);
  const group = word === 'latest' ? undefined : groupNamed(word, process.cwd());
  if (group !== undefined) return showAttempts(group, key, json);
  const place = runFolderOf(process.cwd(), word);
  const suite = await showSuite(place, key);
  if (suite) {
    const text = (): string => judgementLine([suite.judgement], paintFor(1)) + suiteText(suite, paintFor(1));
    stdout.write(json ? `${printableJson(suiteJson(suite))}\n` : text());
    return 0;
  }
  const intent = await showIntent(place, internal === true);
  if (intent) {
    stdout.write(json ? `${printableJson(intentJson(intent))}\n` : intentText(intent, paintFor(1)));
    return 0;
  }
  const agent = await showAgent(place, internal === true, key);
  if (agent) {
    const text = (): string => judgementLine([agent.judgement], paintFor(1)) + agentText(agent, paintFor(1));
    stdout.write(json ? `${printableJson(agentJson(agent))}\n` : text());
    return 0;
  }
  const shown = await showRun(place, internal === true);
  if (json) stdout.write(`${printableJson(asJson(shown))}\n`);
  else stdout.write(showText(shown, paintFor(1)));
  return 0;
}

/** Ranks a group of attempts again from its sealed runs, and shows the table. */
async function showAttempts(group: string, key: Checker | undefined, json: true | undefined): Promise<number> {
  const { report, folders } = await attemptGroup(group, process.cwd(), key);
  if (json) stdout.write(`${printableJson(attemptsJson(report, folders))}\n`);
  else stdout.write(attemptsText(report, paintFor(1), process.stdout.columns));
  return 0;
}

function asJson(shown: Shown): object {
  const { request, runner, outcome, result, log } = shown;
  return { ...headJson('script', shown), request, runner, outcome, result, ...(log && { log }) };
}

function showText(shown: Shown, paint: Paint): string {
  const { place, request, runner, outcome, metadata, result, life } = shown;
  const folder = printable(path.relative(process.cwd(), place.folder) || '.');
  const absent = metadata?.runner_record_absent;
  if (life !== 'finished' || !outcome || !(runner ?? absent) || !request || !result) {
    const state = life !== 'finished' ? openText(life) : 'cannot be read';
    return `${paint('strong', printable(place.id))}  ${state}\n  evidence  ${folder}\n`;
  }
  const mark = outcome.status === 'succeeded' ? paint('good', '✓') : paint('bad', '✗');
  const reason = outcome.reason === null ? '' : ` (${outcome.reason})`;
  const words = request.args.map(printable).join(' ');
  const lines = [
    `${mark} ${paint('strong', outcome.status.replace('_', ' '))}  ${printable(request.script.name)} ${words}`.trimEnd(),
    ...(result.error_summary === null ? [] : [`  ${printable(result.error_summary)}`]),
    ...recoveredLines(outcome.recovered, paint),
    `  run       ${request.run_id}`,
    `  script    ${printable(request.script.name)}, run with ${request.interpreter.name}, ${request.script.sha256.slice(0, 23)}…`,
    `  inputs    ${request.inputs.map(({ name, bytes }) => `${printable(name)} (${sizeText(bytes)})`).join(', ') || 'none'}`,
    `  env       ${[...request.env_names, ...request.secret_names.map(name => `${name} (secret)`)].map(printable).join(', ') || 'no variables'}`,
    `  when      ${whenText(shown)}`,
    `  ended     ${endingInBrief(outcome.ending)}${reason}; the script ${claimedText(outcome)}`,
    `  used      ${usedBy(outcome)}`,
    '',
    ...limitLines(shown, request, outcome, paint),
    '',
    ...outputLines(outcome, result, paint),
    ...maskingLines(outcome.masking, paint),
    ...logLines(shown),
    '',
    ...evidenceLines(shown, folder, paint),
  ];
  return `${lines.join('\n')}\n`;
}

function limitLines(
  { runner, metadata }: Shown,
  request: ScriptRequest,
  outcome: ScriptOutcome,
  paint: Paint,
): readonly string[] {
  return [
    `  ${paint('strong', 'limits')}`,
    `    requested ${askedOf(request)}`,
    ...(runner
      ? [
          `    sandbox   ${sandboxText(runner, [])}`,
          `    allowed   ${limitsText(runner, outcome.limits, outcome.enforcement)}`,
        ]
      : [`    sandbox   no record: ${printable(metadata?.runner_record_absent ?? '')}`]),
    ...enforcedBy(outcome).map(line => `    ${line}`),
    ...outcome.observed.map(
      ({ what, held, note }) =>
        `    probe     ${held ? paint('good', '✓') : paint('bad', '✗')} ${what.replace('_', ' ')}: ${printable(note)}`,
    ),
    ...(runner?.warnings ?? []).map(warning => `    ${paint('note', 'warning')}   ${printable(warning)}`),
  ];
}

function outputLines(outcome: ScriptOutcome, result: ScriptResult, paint: Paint): readonly string[] {
  return [
    `  ${paint('strong', 'output')}`,
    ...outcome.streams.map(stream => `    ${streamText(stream, 'script')}`),
    ...result.artifacts
      .slice(0, FILES_SHOWN)
      .map(({ path: file, bytes }) => `    ${printable(file)}  ${paint('faint', sizeText(bytes))}`),
    ...(result.artifacts.length > FILES_SHOWN ? [`    and ${result.artifacts.length - FILES_SHOWN} more`] : []),
    ...(outcome.salvaged ? [paint('note', '    salvaged: the run failed, but its files are kept')] : []),
    ...outcome.cuts
      .filter(({ what }) => what !== 'stdout' && what !== 'stderr')
      .map(({ what, bytes_total, bytes_kept }) =>
        paint(
          'note',
          `    ${what.replace('_', ' ')} is truncated: ${sizeText(bytes_kept)} of ${sizeText(bytes_total)}`,
        ),
      ),
    ...outcome.replaced.map(what =>
      paint('note', `    ${REPLACED[what] ?? `${what} was replaced, because it is not safe to show`}`),
    ),
  ];
}

const FILES_SHOWN = 50;

function whenText({ runner, metadata }: Shown): string {
  const { started_at, ended_at = started_at } = metadata ?? {
    started_at: runner?.timing.started_at ?? '',
    ended_at: runner?.timing.completed_at,
  };
  return `${started_at}, took ${durationText(Date.parse(ended_at) - Date.parse(started_at))}`;
}

function usedBy({ usage }: ScriptOutcome): string {
  const used = [
    ...(usage.cpu_ms === null ? [] : [`${durationText(usage.cpu_ms)} of CPU time`]),
    ...(usage.memory_peak_bytes === null ? [] : [`${sizeText(usage.memory_peak_bytes)} peak memory`]),
    ...sampledText(usage),
    ...(usage.forks_denied ? [`hit the process limit ${countText(usage.forks_denied, 'time')}`] : []),
  ];
  return used.join(', ') || 'not measured';
}

function askedOf({ requested }: ScriptRequest): string {
  const { profile, sandbox, isolation, timeout_ms, idle_timeout_ms, memory_bytes, cpu_seconds, cpus, pids } = requested;
  const { max_output_files, max_total_output_bytes } = requested;
  const asked = [
    profile && `profile ${profile}`,
    sandbox && `sandbox ${sandbox}`,
    isolation && `isolation ${isolation}`,
    timeout_ms && durationText(timeout_ms),
    idle_timeout_ms && `${durationText(idle_timeout_ms)} without output`,
    cpus && countText(cpus, 'CPU'),
    cpu_seconds && `${durationText(cpu_seconds * 1_000)} of CPU time`,
    memory_bytes && sizeText(memory_bytes),
    pids && `${pids} processes`,
    max_output_files && `${countText(max_output_files, 'file')} of output`,
    max_total_output_bytes && `${sizeText(max_total_output_bytes)} of output`,
  ].filter(Boolean);
  return asked.length === 0 ? 'nothing; all defaults' : `${asked.join(', ')}; defaults for the rest`;
}

function enforcedBy({ enforcement }: ScriptOutcome): string[] {
  const { memory, pids, cpu, output, seccomp, user, kill } = enforcement;
  const by = Object.entries({ memory, processes: pids, 'CPU time': cpu, output: output }).filter(
    ([, who]) => who !== 'none',
  );
  return [
    ...limitClaimLines(enforcement),
    `mechanism ${[...by.map(([what, who]) => `${what}: ${who.replace('_', ' ')}`), `end: ${kill.replace('_', ' ')}`].join(', ')}`,
    `          ${seccomp ? 'with' : 'without'} a system call filter, ${user ? 'not as root' : 'as root'}`,
  ];
}

/** Results that Proctor changed before it stored them. */
const REPLACED: Readonly<Record<string, string>> = {
  error_summary: 'the error summary was replaced, because it is not safe to show',
  html_output: 'the HTML output contained U+0000, shown as U+FFFD',
};
