import path from 'node:path';
import { printable } from '../../base/printable.ts';
import type { ShownIntent } from '../../verbs/show-intent.ts';
import type { Paint } from './paint.ts';
import {
  endingInBrief,
  evidenceLines,
  limitClaimLines,
  limitsText,
  logLines,
  maskingLines,
  openText,
  recoveredLines,
  sandboxText,
  headJson,
  streamText,
} from './run-text.ts';
import { countText, durationText, sizeText } from './units.ts';

export function intentJson(shown: ShownIntent): object {
  const { request, result, intent, bundle, policy, runner, outcome, log } = shown;
  return {
    ...headJson('intent', shown),
    request,
    result,
    intent,
    bundle,
    policy,
    runner,
    outcome,
    ...(log && { log }),
  };
}

export function intentText(shown: ShownIntent, paint: Paint): string {
  const { place, life, request, result, intent } = shown;
  const folder = printable(path.relative(process.cwd(), place.folder) || '.');
  if (life !== 'finished' || !request || !result) {
    const state = life === 'finished' ? 'cannot be read' : openText(life);
    return `${paint('strong', printable(place.id))}  ${state}\n  evidence  ${folder}\n`;
  }
  const { kernel_result_kind: kind, decision, clarify_questions = [] } = result;
  const mark = decision.accepted ? paint('good', '✓') : kind === 'CLARIFY' ? paint('note', '?') : paint('bad', '✗');
  const took = Date.parse(result.completed_at) - Date.parse(result.started_at);
  const lines = [
    `${mark} ${paint('strong', kind)}  ${printable(request.intent.name)}  ${decision.accepted ? 'accepted' : 'not accepted'}`,
    ...decision.reasons.slice(0, SHOWN_MAX).map(reason => `  ${printable(reason)}`),
    ...clarify_questions.slice(0, SHOWN_MAX).map(question => `  ${paint('note', '?')} ${printable(question)}`),
    ...recoveredLines(shown.outcome?.recovered, paint),
    ...(intent ? [`  goal      ${printable(short(intent.goal))}`] : []),
    `  run       ${request.run_id}`,
    `  request   ${request.mode}, policy ${request.policy}${request.answers ? ', with answers' : ''}, model mode ${request.model_mode}`,
    `  intent    ${result.intent.sha256.slice(0, 23)}…${result.bundle ? `, ${result.bundle.bundle_id}` : ''}`,
    `  when      ${result.started_at}, took ${durationText(took)}`,
    ...planLines(shown),
    ...ranLines(shown, paint),
    ...maskingLines(shown.outcome?.masking, paint),
    ...logLines(shown),
    ...evidenceLines(shown, folder, paint),
  ];
  return `${lines.join('\n')}\n`;
}

const SHOWN_MAX = 20;

function short(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}

function planLines({ bundle }: ShownIntent): string[] {
  if (!bundle) return [];
  return [
    `  plan      ${countText(bundle.files.length, 'file')}, ${countText(bundle.commands.length, 'command')}, ${countText(bundle.outputs.length, 'output')}, ${countText(bundle.accept.length, 'check')}`,
    ...bundle.commands.slice(0, SHOWN_MAX).map(({ argv }) => `    ${short(argv.map(printable).join(' '))}`),
  ];
}

function ranLines({ runner, outcome, result }: ShownIntent, paint: Paint): string[] {
  if (!outcome) return [];
  const which = outcome.command === null ? '' : ` (commands[${outcome.command}] of ${outcome.commands_total})`;
  return [
    `  ended     ${endingInBrief(outcome.ending)}${which}`,
    ...(runner
      ? [
          `  sandbox   ${sandboxText(runner, outcome.observed)}`,
          `  limits    ${limitsText(runner, outcome.limits, outcome.enforcement)}`,
          `  writes    ${runner.write_roots.join(', ')}; programs ${runner.commands.allowlist.join(', ') || 'all'}`,
        ]
      : ['  sandbox   no record: the exit is unknown']),
    ...limitClaimLines(outcome.enforcement).map(line => `  ${line}`),
    ...(runner?.warnings ?? []).map(warning => `  ${paint('note', 'warning')}   ${printable(warning)}`),
    ...outcome.checks.slice(0, SHOWN_MAX).map(({ check, path: file, held, message }) => {
      const sign = held ? paint('good', '✓') : paint('bad', '✗');
      return `  check     ${sign} ${check}${file === null ? '' : ` ${printable(file)}`}${message === null ? '' : `: ${printable(message)}`}`;
    }),
    ...(result?.execution?.outputs ?? [])
      .slice(0, SHOWN_MAX)
      .map(({ path: file, size_bytes }) => `  output    ${printable(file)}  ${paint('faint', sizeText(size_bytes))}`),
    ...outcome.streams.map(stream => `  ${streamText(stream, 'intent')}`),
  ];
}
