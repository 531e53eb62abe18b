import type { AgentDiff } from './agent-page-data.ts';
import type { AgentPageInput } from './agent-page.ts';
import { DOES_NOT_VERIFY, type PageTop } from './page-kinds.ts';
import { amount, lineOf, digitsText, spanText } from './page-words.ts';

/** The verdict of an agent run: how it ended, what it changed, and whether its claims match. */
export function agentTop(input: AgentPageInput, diff: AgentDiff): PageTop {
  const { place, metadata, plan } = input;
  const { tone, word, sentence } = verdictOf(input, diff);
  const startedAt = plan && new Date(plan.startedAtMs).toISOString();
  return { subject: 'Agent run', id: place.id, at: metadata?.ended_at ?? startedAt ?? null, tone, word, sentence };
}

type Verdict = Pick<PageTop, 'tone' | 'word' | 'sentence'>;

/** `claude 2.1.325`. */
export function agentName({ family, version }: { readonly family: string; readonly version: string }): string {
  return `${family.replace(/_cli$/, '')} ${lineOf(version, 60)}`;
}

function verdictOf(input: AgentPageInput, diff: AgentDiff): Verdict {
  const { life, outcome, plan, isWhole, evaluation, policy, checks } = input;
  const agent = outcome?.agent ?? plan?.agent;
  const name = agent ? agentName(agent) : 'The agent';
  if (life !== 'finished') return openVerdict(life, name);
  if (!outcome) return { tone: 'bad', word: 'Unreadable', sentence: 'The run has no readable outcome.' };
  const says = saysOf(input, name);
  const violations = policy?.violations.length ?? 0;
  const flags = evaluation?.flags.length ?? 0;
  const sentence = [
    says,
    changesText(diff),
    checksText(checks),
    judgedText(flags, violations, evaluation !== undefined),
  ]
    .filter(text => text !== '')
    .join(' ');
  if (!isWhole) return { tone: 'bad', word: DOES_NOT_VERIFY, sentence: `The evidence was changed. ${sentence}` };
  if (outcome.termination !== 'completed') return { tone: 'bad', word: WORDS[outcome.termination], sentence };
  if (violations > 0) return { tone: 'bad', word: 'Completed, with policy violations', sentence };
  if (checks.some(({ verdict }) => verdict === 'failed'))
    return { tone: 'bad', word: 'Completed, but a check fails', sentence };
  if (checks.some(({ verdict }) => verdict !== 'passed'))
    return { tone: 'unsure', word: 'Completed, but a check has no result', sentence };
  if (flags > 0) return { tone: 'unsure', word: 'Completed, with doubtful claims', sentence };
  return { tone: 'good', word: 'Completed', sentence };
}

const WORDS = {
  completed: 'Completed',
  error: 'Failed',
  killed_timeout: 'Timed out',
  killed_idle: 'Stalled',
  killed_policy: 'Stopped by policy',
} as const;

function openVerdict(life: AgentPageInput['life'], name: string): Verdict {
  if (life === 'alive') return { tone: 'unsure', word: 'Still running', sentence: `${name} is still running.` };
  return {
    tone: 'unsure',
    word: 'Interrupted',
    sentence: `The run of ${name} was interrupted. Its outcome and its changes are unknown.`,
  };
}

function saysOf({ outcome }: AgentPageInput, name: string): string {
  if (!outcome) return '';
  const { termination, detail, api_status, clocks } = outcome;
  const why = detail === null ? '' : lineOf(detail, DETAIL_UNITS_MAX);
  const status = api_status === null ? '' : ` (HTTP status ${api_status})`;
  if (termination === 'completed') return `${name} reports success.`;
  if (termination === 'killed_timeout')
    return `Proctor stopped ${name} after ${spanText(clocks.timeout_ms)}, its time limit.`;
  if (termination === 'killed_policy') return `Proctor stopped ${name}: ${why}`;
  if (termination === 'killed_idle') return `Proctor stopped ${name}. ${why}`;
  return `${name} failed. ${why}${status}`;
}

const DETAIL_UNITS_MAX = 300;

function changesText({ absent, total, added, removed, files }: AgentDiff): string {
  if (absent !== null && files.length === 0) return 'What it changed is unknown.';
  if (total === 0) return 'It changed no file.';
  return `It changed ${amount(total, 'file')} (+${digitsText(added)}\u00a0−${digitsText(removed)}).`;
}

/** Such as `1 of 2 checks passes; unit exited with code 1.` */
function checksText(checks: AgentPageInput['checks']): string {
  if (checks.length === 0) return '';
  const passed = checks.filter(({ verdict }) => verdict === 'passed').length;
  const bad = checks.find(({ verdict }) => verdict !== 'passed');
  const first = bad ? `; ${clauseOf(bad)}` : '';
  return `${passed} of ${amount(checks.length, 'check')} ${passed === 1 ? 'passes' : 'pass'}${first}`.replace(
    /\.?$/,
    '.',
  );
}

/** The message of a check as part of a sentence that names the check. */
function clauseOf({ name, message }: AgentPageInput['checks'][number]): string {
  const line = lineOf(message, DETAIL_UNITS_MAX);
  if (line.startsWith('The check ')) return `${name} ${line.slice('The check '.length)}`;
  if (/^\d/.test(line)) return `in ${name}, ${line}`;
  return `${name}: ${line.replace(/^(?:The|A|An) /, article => article.toLowerCase())}`;
}

function judgedText(flags: number, violations: number, isJudged: boolean): string {
  const parts = [
    ...(violations > 0 ? [`${amount(violations, 'policy violation')}.`] : []),
    ...(flags > 0 ? [`${amount(flags, 'claim')} ${flags === 1 ? 'does' : 'do'} not match the record.`] : []),
  ];
  if (parts.length > 0) return parts.join(' ');
  return isJudged ? 'Proctor found no contradiction in its claims.' : '';
}
