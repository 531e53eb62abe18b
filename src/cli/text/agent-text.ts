import { printable } from '../../base/printable.ts';
import type { AgentEvaluation } from '../../contracts/agent-evaluation/index.ts';
import type { PolicySummary } from '../../contracts/agent-step/index.ts';
import type { LeftRunning } from '../../contracts/capture.ts';
import type { ShownAgent } from '../../verbs/show-agent.ts';
import type { Paint } from './paint.ts';
import { countText, shortText } from './units.ts';

export function diffLines(diff: ShownAgent['diff'], paint: Paint): string[] {
  if (!diff) return ['', `  ${paint('strong', 'changes')}   unknown: the run has no diff`];
  if (diff.total === 0) return ['', `  ${paint('strong', 'changes')}   none`];
  const counts = diff.files.map(({ added, removed, binary }) => (binary ? ['bin', ''] : [plus(added), minus(removed)]));
  const widths = [0, 1].map(column => Math.max(...counts.map(count => (count[column] ?? '').length)));
  const rest = diff.total - diff.files.length;
  return [
    '',
    `  ${paint('strong', 'changes')}   ${countText(diff.total, 'file')}, ${plus(diff.added) || '+0'} ${minus(diff.removed) || '−0'}`,
    ...diff.files.map((file, index) => {
      const [added = '', removed = ''] = counts[index] ?? [];
      const columns = `${paint('good', added.padStart(widths[0] ?? 0))} ${paint('bad', removed.padStart(widths[1] ?? 0))}`;
      return `    ${columns}  ${printable(shortText(file.path, PATH_UNITS_MAX))}${KINDS[file.change]}`;
    }),
    ...(rest > 0 ? [paint('faint', `    ${countText(rest, 'more file')}`)] : []),
  ];
}

/** Facts about the work tree that the diff does not show. */
export function workspaceLines(workspace: ShownAgent['workspace'], paint: Paint): string[] {
  if (!workspace) return [];
  const { commits, ignored, left_out, hooks, links_out, nested_repositories, diff } = workspace;
  const odd = [
    ...(diff.cut ? ['the diff is truncated and cannot be applied'] : []),
    ...(workspace.branch_moved ? ['the agent moved one of your branches in the clone'] : []),
    ...(workspace.rewritten ? ['the agent rewrote the commits it started from'] : []),
    ...(workspace.git_folder === 'kept' ? [] : [`.git is ${workspace.git_folder}`]),
    ...(workspace.git_config_changed ? ['.git/config was changed'] : []),
    ...(hooks.total > 0 ? [countText(hooks.total, 'hook')] : []),
    ...(links_out.total > 0 ? [`${countText(links_out.total, 'link')} pointing outside the tree`] : []),
    ...(nested_repositories.total > 0
      ? [countText(nested_repositories.total, 'nested repository', 'nested repositories')]
      : []),
    ...(left_out.total > 0 ? [`${countText(left_out.total, 'file')} that a diff cannot represent`] : []),
  ];
  const total = commits.total ?? commits.listed.length;
  return [
    ...(total > 0 ? [`    ${countText(total, 'commit')}`] : []),
    ...commits.listed
      .slice(0, COMMITS_MAX)
      .map(
        ({ sha, subject }) =>
          `    ${paint('faint', sha.slice(0, 9))}  ${printable(shortText(subject, PATH_UNITS_MAX))}`,
      ),
    ...(ignored.total > 0
      ? [paint('faint', `    ${countText(ignored.total, 'file')} ignored by .gitignore and not in the diff`)]
      : []),
    ...odd.map(what => `    ${paint('note', '!')} ${what}`),
  ];
}

/** Changed files that run automatically once applied. */
export function reviewLines(needsReview: ShownAgent['needsReview'], paint: Paint): string[] {
  if (!needsReview || needsReview.total === 0) return [];
  const shown = needsReview.listed.slice(0, REVIEW_MAX);
  const rest = needsReview.total - shown.length;
  return [
    '',
    `  ${paint('note', 'needs review')}  ${countText(needsReview.total, 'file')} that ${needsReview.total === 1 ? 'runs' : 'run'} automatically; name each with --allow-active to apply it`,
    ...shown.map(({ path, reason }) => `    ${printable(shortText(path, PATH_UNITS_MAX))}: ${printable(reason)}`),
    ...(rest > 0 ? [paint('faint', `    ${countText(rest, 'more file')}`)] : []),
  ];
}

const REVIEW_MAX = 20;

/** Processes that the agent left running and Proctor ended. */
export function leftRunningLines(left: LeftRunning | null | undefined, paint: Paint): string[] {
  if (!left || left.processes === 0) return [];
  const names = left.programs.map(name => printable(shortText(name, PATH_UNITS_MAX))).join(', ');
  return [
    `  ${paint('note', 'running')}   ${countText(left.processes, 'process', 'processes')} left when the agent ended: ${names}`,
  ];
}

const COMMITS_MAX = 5;

const PATH_UNITS_MAX = 160;
const KINDS = { add: '  new', delete: '  deleted', rename: '  renamed', update: '' } as const;

function plus(count: number): string {
  return count === 0 ? '' : `+${count.toLocaleString('en-US')}`;
}

function minus(count: number): string {
  return count === 0 ? '' : `−${count.toLocaleString('en-US')}`;
}

/** The agent's claims that do not match what it did. */
export function claimLines(flags: AgentEvaluation['flags'] | undefined, paint: Paint): string[] {
  if (!flags || flags.length === 0) return [];
  return [
    '',
    `  ${paint('strong', 'claims')}    ${paint('faint', 'claims that do not match the record; review them (they are not violations)')}`,
    ...flags.map(({ flag, message, seq }) => {
      const where = seq === null ? '' : `, line ${seq} of the transcript`;
      return `    ${paint('note', '⚠')} ${printable(message)} ${paint('faint', `(${flag}${where})`)}`;
    }),
  ];
}

export function policyLines(policy: PolicySummary, paint: Paint): string[] {
  const { requested, effective, observed, applied_overrides, violations, capability_notes, enforcement_notes } = policy;
  const notes = [...capability_notes, ...enforcement_notes];
  const overrides = applied_overrides.map(({ dimension, note }) => `${words(dimension)}: ${note}`);
  return [
    '',
    `  ${paint('strong', 'policy')}`,
    `    requested ${postures(requested)}`,
    `    enforced  ${postures(effective)}`,
    ...some(overrides).map(note => `    tightened ${printable(note)}`),
    ...some(observed).map(
      ({ dimension, held, note }) =>
        `    probe     ${held ? paint('good', '✓') : paint('bad', '✗')} ${words(dimension)}: ${printable(note)}`,
    ),
    ...some(notes).map(note => `    ${paint('faint', 'note')}      ${printable(note.replace(DIMENSION, words))}`),
    ...some(violations).map(({ class: kind, message, path, operation, hard }) => {
      const about = [path, operation].filter(text => text !== undefined && !message.includes(text));
      const of = about.length > 0 ? ` (${printable(about.join(', '))})` : '';
      return `    ${hard ? paint('bad', 'violated') : paint('note', 'violated')}  ${hard ? '✗' : '!'} ${words(kind)}: ${printable(shortText(message, MESSAGE_UNITS_MAX))}${of}`;
    }),
    ...(violations.length > SHOWN_MAX ? [paint('faint', `              ${violations.length - SHOWN_MAX} more`)] : []),
  ];
}

/** The dimension at the start of a note. */
const DIMENSION = /^[a-z]+_[a-z]+(?=: )/;

const SHOWN_MAX = 20;
const MESSAGE_UNITS_MAX = 200;

function some<One>(all: readonly One[]): readonly One[] {
  return all.slice(0, SHOWN_MAX);
}

function words(name: string): string {
  return name.replaceAll('_', ' ');
}

type Postures = PolicySummary['requested'] | PolicySummary['effective'];

function postures(policy: Postures): string {
  const { execution_posture, network_posture, approval_posture, policy_reference } = policy;
  const { allowed_paths, forbidden_paths, forbidden_operations } = policy;
  const asked = [
    ...(policy_reference ? [printable(policy_reference)] : []),
    ...(execution_posture ? [words(execution_posture)] : []),
    ...(network_posture ? [`network ${words(network_posture)}`] : []),
    ...(approval_posture ? [words(approval_posture)] : []),
    ...(allowed_paths ? [whereText(allowed_paths)] : []),
    ...(forbidden_paths?.length ? [`except ${list(forbidden_paths)}`] : []),
    ...(forbidden_operations?.length ? [`without ${list(forbidden_operations)}`] : []),
  ];
  return asked.join('; ') || 'nothing; all defaults';
}

function whereText(allowed: readonly string[]): string {
  if (allowed.length === 0) return 'in no path';
  return allowed.includes('.') ? 'in the whole tree' : `in ${list(allowed)}`;
}

function list(all: readonly string[]): string {
  const more = all.length > LISTED_MAX ? ` and ${all.length - LISTED_MAX} more` : '';
  return `${all.slice(0, LISTED_MAX).map(printable).join(', ')}${more}`;
}

const LISTED_MAX = 8;
