import { printable } from '../../base/printable.ts';
import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { Paint } from './paint.ts';
import { countText } from './units.ts';

type Access = AgentOutcome['model_access'];

/** What Proctor's model proxy counted, and its limits. Old evidence has no counts. */
export function doorLines(access: Access, paint: Paint): string[] {
  const { counted: count, budget, mode } = access;
  if (!count || mode === 'none') return refusalLines(access, paint);
  const { requests, input_tokens, output_tokens, cost_usd, estimated } = count;
  const said = [
    countText(requests, 'answer'),
    ...(input_tokens === null ? [] : [`${countText(input_tokens, 'token')} in`]),
    ...(output_tokens === null ? [] : [`${output_tokens.toLocaleString('en-US')} out`]),
    ...(cost_usd === null ? [] : [`$${cost_usd.toFixed(4)} at your prices`]),
    ...(estimated === 0 ? [] : [`${estimated} of them estimated`]),
  ];
  const limits = budgetText(budget);
  return [
    `  proxy     ${said.join(', ')}${limits === '' ? '' : `; at most ${limits}`}`,
    ...refusalLines(access, paint),
  ];
}

/** What the proxy refused and removed. */
export function refusalLines({ refused, stripped }: Access, paint: Paint): string[] {
  return [
    ...(refused && refused.total > 0
      ? [
          `  ${paint('note', 'refused')}   ${countText(refused.total, 'request')} by the model proxy: ${placesText(refused)}`,
        ]
      : []),
    ...(stripped && stripped.total > 0 ? [`  removed   ${placesText(stripped)}, before requests were sent`] : []),
  ];
}

function placesText({ listed, total }: NonNullable<Access['refused']>): string {
  const shown = listed.slice(0, PLACES_MAX);
  const places = shown.map(({ what, where, count }) => {
    const times = count > 1 ? ` (${count} times)` : '';
    return `${what === 'budget' ? 'over budget' : printable(where)}${times}`;
  });
  const rest = total - shown.reduce((sum, { count }) => sum + count, 0);
  return [...places, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}

const PLACES_MAX = 5;

function budgetText(budget: Access['budget']): string {
  const { max_turns, max_requests, max_tokens, max_cost_usd } = budget ?? {};
  return [
    ...(max_turns ? [countText(max_turns, 'turn')] : []),
    ...(max_requests ? [countText(max_requests, 'request')] : []),
    ...(max_tokens ? [countText(max_tokens, 'token')] : []),
    ...(max_cost_usd ? [`$${max_cost_usd}`] : []),
  ].join(', ');
}
