import type { LimitClaim } from '../../contracts/script-outcome/claims.ts';
import { DIMENSIONS } from '../../contracts/agent-step/policy.ts';
import type { PolicySummary } from '../../contracts/agent-step/policy-summary.ts';
import type { AgentFolder } from '../../evidence/agent/agent-folder.ts';
import type { PlannedPolicy } from '../../evidence/agent/planned-policy.ts';
import type { AgentFact, AgentPagePolicy } from './agent-page-data.ts';
import { amount, asWords, bytesText, lineOf, digitsText, spanText } from './page-words.ts';

type Sources = Pick<AgentFolder, 'policy' | 'outcome'> & { readonly planned: PlannedPolicy | undefined };

/** The policy as it was requested, enforced and observed; null if the run has no policy summary and no plan. */
export function agentPolicyPart({ policy: stated, outcome, planned }: Sources): AgentPagePolicy | null {
  const policy = stated ?? planned?.policy;
  if (!policy) return null;
  const bounds = outcome ?? planned;
  const { requested, effective, observed, violations, applied_overrides } = policy;
  return {
    rows: DIMENSIONS.map(dimension => ({
      dimension: asWords(dimension),
      asked: valueText(requested[dimension], 'not stated'),
      enforced: valueText(effective[dimension], 'none'),
      observed: observed
        .filter(one => one.dimension === dimension)
        .slice(0, NOTES_MAX)
        .map(({ held, note }) => ({ held, text: lineOf(note, TEXT_UNITS_MAX) })),
    })),
    violations: violations.slice(0, VIOLATIONS_MAX).map(violationText),
    violationsTotal: stated ? violations.length : null,
    tightened: applied_overrides
      .slice(0, NOTES_MAX)
      .map(({ dimension, note }) => `${asWords(dimension)}: ${lineOf(note, TEXT_UNITS_MAX)}`),
    notes: [...policy.capability_notes, ...policy.enforcement_notes]
      .slice(0, NOTES_MAX)
      .map(note => lineOf(note.replace(/^[a-z]+_[a-z]+(?=: )/, asWords), TEXT_UNITS_MAX)),
    limits: (bounds?.enforcement.claims ?? []).filter(({ value }) => value !== null).map(limitText),
    clocks: bounds ? clocksOf(bounds) : [],
    networkAttempts: outcome?.network_attempts ?? null,
  };
}

const NOTES_MAX = 50;
const VIOLATIONS_MAX = 100;
const TEXT_UNITS_MAX = 500;
const LISTED_MAX = 20;

function valueText(value: string | readonly string[] | null | undefined, none: string): string {
  if (value === null || value === undefined) return none;
  if (typeof value === 'string') return asWords(value);
  if (value.length === 0) return 'none';
  const rest = value.length - LISTED_MAX;
  const shown = value.slice(0, LISTED_MAX).map(one => (one === '.' ? 'the whole tree' : one));
  return `${shown.join(', ')}${rest > 0 ? ` and ${digitsText(rest)} more` : ''}`;
}

function violationText(violation: PolicySummary['violations'][number]): AgentPagePolicy['violations'][number] {
  const { class: kind, message, path, operation, hard } = violation;
  const about = [path, operation].filter(text => text !== undefined && !message.includes(text));
  const of = about.length > 0 ? ` (${about.join(', ')})` : '';
  return { hard, kind: asWords(kind), text: `${lineOf(message, TEXT_UNITS_MAX)}${of}` };
}

function limitText({ limit, value, claim }: LimitClaim): AgentPagePolicy['limits'][number] {
  const name = asWords(limit.replace(/_(?:ms|bytes|seconds)$/, ''));
  const shown = limit.endsWith('_ms')
    ? spanText(value ?? 0)
    : limit.endsWith('_bytes')
      ? bytesText(value ?? 0)
      : limit.endsWith('_seconds')
        ? spanText((value ?? 0) * 1_000)
        : digitsText(value ?? 0);
  return { limit: name, value: shown, claim: asWords(claim) };
}

function clocksOf({ clocks, turn_limit, agent }: Omit<PlannedPolicy, 'policy'>): AgentFact[] {
  const counter = turn_limit?.enforced_by === 'proctor' ? 'Proctor' : agent.family.replace(/_cli$/, '');
  return [
    { name: 'whole run', value: spanText(clocks.timeout_ms) },
    { name: 'without progress', value: spanText(clocks.idle_timeout_ms) },
    { name: 'while a tool runs', value: spanText(clocks.tool_idle_timeout_ms) },
    { name: 'to exit after its last line', value: spanText(clocks.grace_ms) },
    ...(turn_limit ? [{ name: 'turns', value: amount(turn_limit.max, 'turn'), note: `counted by ${counter}` }] : []),
  ];
}
