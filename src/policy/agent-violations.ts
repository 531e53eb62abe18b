import { nameKey } from '../base/path.ts';
import type { Changes } from '../contracts/agent-step/changes.ts';
import { inside } from '../contracts/agent-step/paths.ts';
import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';

/** Something an agent did and was not allowed to. What is found in its tree ends a run, whatever the agent says of it. */
export interface TreeViolation {
  readonly class: 'forbidden_path' | 'forbidden_operation' | 'protected_branch_violation';
  readonly message: string;
  readonly path?: string;
  readonly operation?: string;
  readonly hard: true;
  /** What was looked at afterwards: the files, or what git keeps beside them. */
  readonly source: 'tree' | 'git';
}

/** Holds what an agent did to its tree against the policy. All of it: what is not listed in a document counts, too. */
export function violationsIn(changes: Changes, policy: EffectivePolicy): TreeViolation[] {
  return [...branches(changes), ...operations(changes, policy), ...paths(changes, policy)];
}

function branches({ refs }: Changes): TreeViolation[] {
  const words = { new: 'made', moved: 'moved', deleted: 'deleted' } as const;
  return bounded(
    refs
      .filter(({ isProtected }) => isProtected)
      .map(({ name, change }) => {
        const branch = name.replace(/^refs\/heads\//, '');
        return violation('protected_branch_violation', `The agent ${words[change]} the protected branch ${branch}.`);
      }),
    'protected_branch_violation',
  );
}

/** Branches of the user that were written while the agent ran, and are where they were when it had ended. */
export function putBack(
  written: ReadonlySet<string>,
  protectedRefs: readonly string[],
  { refs }: Changes,
): TreeViolation[] {
  const isOther = new Set(refs.map(({ name }) => name));
  const names = protectedRefs.filter(name => written.has(name) && !isOther.has(name));
  return bounded(
    names.map(name =>
      violation(
        'protected_branch_violation',
        `The agent wrote to the protected branch ${name.replace(/^refs\/heads\//, '')}, and put it back.`,
      ),
    ),
    'protected_branch_violation',
  );
}

/** What each forbidden operation looks like afterwards: why it was done, or undefined. */
const TRACES: Readonly<Record<string, (changes: Changes) => string | undefined>> = {
  commit: ({ commits, refs, baseSha }) => {
    if (commits.total !== 0 || refs.some(({ sha }) => sha !== null && sha !== baseSha))
      return 'The agent made a commit.';
    return commits.abandoned ? 'The agent made a commit, which no ref holds.' : undefined;
  },
  push: ({ refs }) =>
    refs.some(({ name }) => name.startsWith('refs/remotes/'))
      ? 'The agent has what only pushing or fetching leaves.'
      : undefined,
  delete: ({ changed }) => {
    const count = changed.filter(({ change }) => change === 'delete').length;
    return count > 0 ? `The agent deleted ${count === 1 ? 'a file' : `${count} files`}.` : undefined;
  },
  force: ({ rewritten }) => (rewritten ? 'The agent rewrote the history of its branch.' : undefined),
  configure: ({ gitConfigChanged, hooks }) =>
    gitConfigChanged || hooks.length > 0 ? 'The agent changed the settings or hooks of git.' : undefined,
};

function operations(changes: Changes, { forbidden_operations }: EffectivePolicy): TreeViolation[] {
  return [...new Set(forbidden_operations)].flatMap(operation => {
    const message = Object.hasOwn(TRACES, operation) ? TRACES[operation]?.(changes) : undefined;
    return message === undefined
      ? []
      : [{ ...violation('forbidden_operation', message), operation, source: operation === 'delete' ? 'tree' : 'git' }];
  });
}

function paths(changes: Changes, policy: EffectivePolicy): TreeViolation[] {
  const isAllowedHere = inside(policy.allowed_paths);
  // Where a backslash is a letter of a name, what looks like a folder before it is none.
  const isAllowed = (path: string): boolean => isAllowedHere(path) && isAllowedHere(path.replaceAll('\\', '%5C'));
  const isForbidden = inside(policy.forbidden_paths);
  // Some systems do not tell such names apart, and the files may be taken there.
  const isForbiddenThere = inside(policy.forbidden_paths.map(folded));
  const whyNot = (path: string): string | undefined => {
    if (isForbidden(path) || isForbiddenThere(folded(path))) return 'in a forbidden path';
    // The settings of git are not among the files that are allowed one by one.
    if (path.startsWith('.git/')) return undefined;
    if (policy.execution_posture === 'read_only') return 'although nothing may be changed';
    return isAllowed(path) ? undefined : 'outside of the allowed paths';
  };
  const touched = new Set([
    ...changes.changed.map(({ path }) => path),
    ...changes.ignored.paths,
    ...changes.nested,
    ...changes.submodules.map(({ path }) => path),
    ...changes.leftOut.map(({ path }) => path),
    ...changes.hooks,
    ...(changes.gitConfigChanged ? ['.git/config'] : []),
  ]);
  const found = [...touched].flatMap(path => {
    const why = whyNot(path);
    return why === undefined ? [] : [{ ...violation('forbidden_path', `The agent changed ${path}, ${why}.`), path }];
  });
  return bounded(found, 'forbidden_path');
}

/** Without what follows a colon, and points and spaces at the end of a name, which some systems drop. */
function folded(path: string): string {
  return nameKey(path).replace(/:[^/]*|[. ]+(?=\/|$)/g, '');
}

function violation(kind: TreeViolation['class'], message: string): TreeViolation {
  return { class: kind, message, hard: true, source: kind === 'forbidden_path' ? 'tree' : 'git' };
}

/** A thousand say no more than a hundred do. */
function bounded(found: readonly TreeViolation[], kind: TreeViolation['class']): TreeViolation[] {
  if (found.length <= LISTED_MAX) return [...found];
  const more = violation(kind, `There are ${found.length - LISTED_MAX} more of this class, which are not listed.`);
  return [...found.slice(0, LISTED_MAX), more];
}

const LISTED_MAX = 100;
