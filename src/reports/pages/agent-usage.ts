import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { AgentFact, AgentPageUsage } from './agent-page-data.ts';
import type { FoldedRows } from './agent-rows.ts';
import { amount, costText } from './page-words.ts';

/** The agent's counts beside those of the model proxy. */
export function agentUsage(outcome: AgentOutcome | undefined, folded: FoldedRows): AgentPageUsage {
  const access = outcome?.model_access;
  const { counted } = access ?? {};
  return {
    reported: outcome?.reported ?? null,
    counted: access?.mode === 'none' ? null : (counted ?? null),
    uncounted: counted && access?.mode !== 'none' ? null : uncountedBecause(outcome),
    budget: budgetFacts(access?.budget),
    refused: placesOf(access?.refused),
    removed: placesOf(access?.stripped),
    turns: folded.turns,
    turnsTotal: folded.turnsTotal,
    turnsNote: turnsNote(folded),
  };
}

function uncountedBecause(outcome: AgentOutcome | undefined): string {
  if (!outcome) return 'The run is not finished, so the proxy has no total yet.';
  if (outcome.model_access.mode === 'none') return 'The agent had no access to a model.';
  return 'The run does not record what the model proxy counted.';
}

function turnsNote({ turns, turnsTotal }: FoldedRows): string | null {
  const isCut = turnsTotal > turns.length;
  const notes = [
    ...(turns.length > 0 && turns.every(({ inputTokens }) => inputTokens === null)
      ? ['The agent states tokens only for the whole run.']
      : turns.length > 0
        ? ['The agent states output tokens and cost only for the whole run.']
        : []),
    ...(isCut ? [`${amount(turnsTotal - turns.length, 'turn')} in the middle left out.`] : []),
  ];
  return notes.length === 0 ? null : notes.join(' ');
}

type Access = AgentOutcome['model_access'];

function budgetFacts(budget: Access['budget']): AgentFact[] {
  const { max_turns, max_requests, max_tokens, max_cost_usd } = budget ?? {};
  return [
    ...(max_turns ? [{ name: 'turns', value: amount(max_turns, 'turn') }] : []),
    ...(max_requests ? [{ name: 'requests', value: amount(max_requests, 'request') }] : []),
    ...(max_tokens ? [{ name: 'tokens', value: amount(max_tokens, 'token') }] : []),
    ...(max_cost_usd ? [{ name: 'cost', value: costText(max_cost_usd) }] : []),
  ];
}

function placesOf(tally: Access['refused']): string[] {
  if (!tally || tally.total === 0) return [];
  const shown = tally.listed.slice(0, PLACES_MAX);
  const rest = tally.total - shown.reduce((sum, { count }) => sum + count, 0);
  return [
    ...shown.map(({ what, where, count }) => {
      const place = what === 'budget' ? 'over budget' : where;
      return count > 1 ? `${place} (${amount(count, 'time')})` : place;
    }),
    ...(rest > 0 ? [amount(rest, 'more', 'more')] : []),
  ];
}

const PLACES_MAX = 20;
