import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { AgentFact } from './agent-page-data.ts';
import type { AgentPageInput } from './agent-page.ts';
import { agentName } from './agent-top.ts';
import { endingWords } from './ending-text.ts';
import { amount, asWords, bytesText, costText, lineOf, spanText } from './page-words.ts';

/** The facts under the verdict. Unknown facts are shown as unknown. */
export function agentFacts(input: AgentPageInput): AgentFact[] {
  const { outcome, plan, metadata, life } = input;
  const agent = outcome?.agent ?? plan?.agent;
  const open = plan && life !== 'finished' ? new Date(plan.startedAtMs).toISOString() : undefined;
  return [
    {
      name: 'Agent',
      value: agent ? agentName(agent) : 'unknown',
      ...(agent?.untested && { note: untestedText(agent) }),
    },
    { name: 'Model', ...modelFact(outcome) },
    { name: 'Started', value: metadata?.started_at ?? open ?? 'unknown' },
    ...(life === 'alive' ? [] : [{ name: 'Took', value: tookText(input) }]),
    ...(outcome ? [{ name: 'Ended', value: endedText(outcome) }, costFact(outcome), usedFact(outcome)] : []),
    ...contextFact(outcome),
    ...leftFact(outcome),
  ];
}

function untestedText({ newest_tried }: Pick<AgentOutcome['agent'], 'newest_tried'>): string {
  return `untested version${newest_tried === undefined ? '' : `; newest tested: ${lineOf(newest_tried, 60)}`}`;
}

const HOW = { none: 'no access', live: 'live', record: 'live and recorded', replay: 'replayed' } as const;

function modelFact(outcome: AgentOutcome | undefined): Pick<AgentFact, 'value' | 'note'> {
  if (!outcome) return { value: 'unknown' };
  const { mode, requests, failures, difference } = outcome.model_access;
  const isUnknown = outcome.recovered?.unknown.includes('requests');
  const counts = isUnknown ? 'number of requests unknown' : amount(requests, 'request');
  const failed = failures > 0 ? `, ${failures} failed` : '';
  const differs = difference === null ? '' : `. ${lineOf(difference, 300)}`;
  return {
    value: outcome.agent.model === null ? 'unnamed' : lineOf(outcome.agent.model, 100),
    note: mode === 'none' ? HOW.none : `${HOW[mode]}: ${counts}${failed}${differs}`,
  };
}

function tookText({ metadata }: AgentPageInput): string {
  const took = Date.parse(metadata?.ended_at ?? '') - Date.parse(metadata?.started_at ?? '');
  return Number.isNaN(took) ? 'unknown' : spanText(took);
}

/** The reason says more only if the agent ended by itself. */
function endedText({ ending, reason }: AgentOutcome): string {
  const isByItself = ending.how === 'exited' || ending.how === 'signalled';
  return `${endingWords(ending)}${isByItself && reason !== 'ok' ? `, ${asWords(reason)}` : ''}`;
}

function costFact({ reported, model_access }: AgentOutcome): AgentFact {
  const counted = model_access.counted?.cost_usd ?? null;
  const note = counted === null ? {} : { note: `${costText(counted)} at your prices` };
  return { name: 'Cost', value: reported.cost_usd === null ? 'unknown' : costText(reported.cost_usd), ...note };
}

function usedFact({ usage, reported }: AgentOutcome): AgentFact {
  const { cpu_ms, memory_peak_bytes } = usage;
  const machine = [
    ...(cpu_ms === null ? [] : [`${spanText(cpu_ms)} of CPU time`]),
    ...(memory_peak_bytes === null ? [] : [`${bytesText(memory_peak_bytes)} peak memory`]),
  ];
  const turns = reported.turns === null ? [] : [amount(reported.turns, 'turn')];
  return { name: 'Used', value: [...turns, ...machine].join(', ') || 'not measured' };
}

function contextFact(outcome: AgentOutcome | undefined): AgentFact[] {
  const context = outcome?.project_context;
  if (!context || (context.state === 'offered' && context.total === 0)) return [];
  if (context.state === 'left_out') return [{ name: 'Instructions', value: 'project instructions hidden' }];
  const shown = context.files.slice(0, FILES_MAX).map(({ path }) => path);
  const rest = context.total - shown.length;
  const value = `${shown.join(', ')}${rest > 0 ? ` and ${amount(rest, 'more file')}` : ''}`;
  return [{ name: 'Instructions', value }];
}

const FILES_MAX = 5;

function leftFact(outcome: AgentOutcome | undefined): AgentFact[] {
  const left = outcome?.left_running;
  if (!left || left.processes === 0) return [];
  const value = `${amount(left.processes, 'process', 'processes')}: ${left.programs.slice(0, FILES_MAX).join(', ')}`;
  return [{ name: 'Left running', value, note: 'Proctor ended them' }];
}
