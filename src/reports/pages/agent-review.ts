import { notAFlag, pastedLine } from '../../base/shell.ts';
import type { AgentFolder } from '../../evidence/agent/agent-folder.ts';
import type { AgentCommand, AgentReview } from './agent-page-data.ts';
import { amount, asWords, lineOf } from './page-words.ts';

interface ReviewInput extends Pick<AgentFolder, 'outcome' | 'workspace' | 'policy' | 'checks'> {
  readonly life: string;
  readonly isWhole: boolean;
  readonly needsReview: AgentReview['files'] extends readonly (infer File)[]
    ? { readonly total: number; readonly listed: readonly File[] } | undefined
    : never;
}

/** What to look at before `proctor apply`, and whether it would refuse. */
export function agentReview(input: ReviewInput): AgentReview {
  const { needsReview, workspace } = input;
  return {
    blocked: blockedBy(input),
    isEmpty: workspace?.changed.total === 0,
    files: (needsReview?.listed ?? []).slice(0, FILES_MAX).map(({ path, reason }) => ({ path, reason })),
    filesTotal: needsReview?.total ?? 0,
    items: [...violationItems(input), ...workspaceItems(input), ...secretItems(input)],
  };
}

const FILES_MAX = 100;

/** The reason why `proctor apply` refuses, in the order in which it checks; null if it would not. */
function blockedBy({ life, isWhole, outcome, policy, workspace, checks }: ReviewInput): string | null {
  if (life === 'alive') return 'The run is not finished yet.';
  if (life !== 'finished' || !outcome) return 'The run is not finished, so nothing proves what the agent changed.';
  if (!isWhole) return 'The run does not verify. Run proctor verify for details.';
  const failed = checks.find(({ verdict }) => verdict !== 'passed');
  if (failed) return `The check ${failed.name} did not pass. Use --allow-failed-checks to apply the changes.`;
  if (!policy || !workspace) return 'The run does not record what the agent changed, or under which policy.';
  if (policy.violations.some(({ hard }) => hard)) return 'The agent violated its policy.';
  if (outcome.termination === 'killed_policy') return 'Proctor stopped the agent because it violated its policy.';
  if (outcome.termination !== 'completed')
    return 'The agent did not complete its task. Use --anyway to apply its changes.';
  return workspace.diff.cut ? 'The diff is truncated, because the changes were too large to keep.' : null;
}

type Items = AgentReview['items'];

function violationItems({ policy }: ReviewInput): Items {
  const violations = policy?.violations ?? [];
  return violations.length === 0
    ? []
    : [{ tone: 'bad', text: `${amount(violations.length, 'policy violation')}; see the policy below.` }];
}

/** Facts about the work tree that a diff does not show. */
function workspaceItems({ workspace }: ReviewInput): Items {
  if (!workspace) return [];
  const { links_out, hooks, nested_repositories, left_out, submodules, ignored, collisions } = workspace;
  const texts = [
    workspace.branch_moved && 'The agent moved one of your branches in its clone.',
    workspace.rewritten && 'The agent rewrote the commits that it started from.',
    workspace.git_folder !== 'kept' && `The .git folder is ${workspace.git_folder}.`,
    workspace.git_config_changed && 'The agent changed .git/config. This change is not applied.',
    hooks.total > 0 && `${amount(hooks.total, 'Git hook')}, not applied: ${named(hooks)}`,
    links_out.total > 0 && `${amount(links_out.total, 'link')} pointing outside the tree: ${named(links_out)}`,
    collisions.total > 0 &&
      `${amount(collisions.total, 'name')} that some file systems cannot tell apart: ${named(collisions)}`,
    nested_repositories.total > 0 &&
      `${amount(nested_repositories.total, 'nested repository', 'nested repositories')}, applied without history: ${named(nested_repositories)}`,
    submodules.total > 0 && `${amount(submodules.total, 'submodule change')}, not applied.`,
    left_out.total > 0 && `${amount(left_out.total, 'file')} that a diff cannot represent, not applied.`,
    ignored.total > 0 && `${amount(ignored.total, 'file')} ignored by .gitignore, not in the diff.`,
  ];
  return texts.flatMap(text => (text === false ? [] : [{ tone: 'unsure', text }]));
}

function named({ total, listed }: { readonly total: number; readonly listed: readonly string[] }): string {
  const shown = listed.slice(0, NAMES_MAX).join(', ');
  return total > NAMES_MAX ? `${shown} and ${amount(total - NAMES_MAX, 'more', 'more')}` : shown;
}

const NAMES_MAX = 5;

function secretItems({ outcome }: ReviewInput): Items {
  return (outcome?.masking?.flagged ?? []).slice(0, SECRETS_MAX).map(({ path, code, kinds }) => {
    const what = kinds.length > 0 ? kinds.map(asWords).join(', ') : 'its name suggests credentials';
    const word = code === 'secret_in_file' ? 'contains a declared secret' : 'may contain a credential';
    return { tone: 'unsure', text: `${lineOf(path, 200)} ${word} (${what}).` };
  });
}

const SECRETS_MAX = 20;

/** The commands for this run. `run` is its name on the command line. The agent chose the names of the files. */
export function agentCommands(run: string, review: AgentReview): AgentCommand[] {
  const isListed = review.filesTotal <= ALLOWED_MAX;
  const allowed = isListed ? review.files.flatMap(({ path }) => ['--allow-active', path]) : [];
  // Flags follow the run, unless its name looks like one.
  const [first, last] = run.startsWith('-') ? [[], notAFlag(run)] : [[run], []];
  const commands = [
    ...(review.isEmpty || review.blocked !== null
      ? []
      : [
          {
            does: 'Check whether the changes apply, without applying them',
            words: ['apply', ...first, ...allowed, '--check', ...last],
          },
          {
            does: 'Apply the changes to the current folder, after you have reviewed them',
            words: ['apply', ...first, ...allowed, ...last],
          },
        ]),
    { does: 'Show this run in the terminal', words: ['show', ...notAFlag(run)] },
    { does: 'Verify the evidence', words: ['verify', ...notAFlag(run)] },
  ];
  return commands.flatMap(({ does, words }) => {
    const command = pastedLine(['proctor', ...words]);
    return command === undefined ? [] : [{ does, command }];
  });
}

const ALLOWED_MAX = 10;
