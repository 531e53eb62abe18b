import { nameKey } from '../base/path.ts';
import type { Changes } from '../contracts/agent-step/changes.ts';
import { inside } from '../contracts/agent-step/paths.ts';
import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';

/** A policy violation found in the work tree. It always fails the run, whatever the agent reports. */
export interface TreeViolation {
  readonly class: 'forbidden_path' | 'forbidden_operation' | 'protected_branch_violation';
  readonly message: string;
  readonly path?: string;
  readonly operation?: string;
  readonly hard: true;
  /** Where it was found: in the files, or in git's own data. */
  readonly source: 'tree' | 'git';
}

/** Checks all of an agent's changes against the policy, including those that documents do not list. */
export function violationsIn(changes: Changes, policy: EffectivePolicy): TreeViolation[] {
  return [...branches(changes), ...operations(changes, policy), ...paths(changes, policy)];
}

function branches({ refs }: Changes): TreeViolation[] {
  const words = { new: 'created', moved: 'moved', deleted: 'deleted' } as const;
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

/** Protected branches that were written during the run and restored before its end. */
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
        `The agent wrote to the protected branch ${name.replace(/^refs\/heads\//, '')}, and restored it.`,
      ),
    ),
    'protected_branch_violation',
  );
}

/** Detects each forbidden operation by its traces. */
const TRACES: Readonly<Record<string, (changes: Changes) => string | undefined>> = {
  commit: ({ commits, refs, baseSha }) => {
    if (commits.total !== 0 || refs.some(({ sha }) => sha !== null && sha !== baseSha))
      return 'The agent made a commit.';
    return commits.abandoned ? 'The agent made a commit that no ref points to.' : undefined;
  },
  push: ({ refs }) =>
    refs.some(({ name }) => name.startsWith('refs/remotes/'))
      ? 'The agent pushed or fetched: a remote-tracking ref changed.'
      : undefined,
  delete: ({ changed }) => {
    const count = changed.filter(({ change }) => change === 'delete').length;
    return count > 0 ? `The agent deleted ${count === 1 ? 'a file' : `${count} files`}.` : undefined;
  },
  force: ({ rewritten }) => (rewritten ? 'The agent rewrote the history of its branch.' : undefined),
  configure: ({ gitConfigChanged, hooks }) =>
    gitConfigChanged || hooks.length > 0 ? "The agent changed git's configuration or hooks." : undefined,
};

function operations(changes: Changes, { forbidden_operations }: EffectivePolicy): TreeViolation[] {
  return [...new Set(forbidden_operations)].flatMap(operation => {
    const message = Object.hasOwn(TRACES, operation) ? TRACES[operation]?.(changes) : undefined;
    return message === undefined
      ? []
      : [{ ...violation('forbidden_operation', message), operation, source: operation === 'delete' ? 'tree' : 'git' }];
  });
}

/** Says why the policy does not allow changes to a path; undefined if it does. */
export function pathBan(policy: EffectivePolicy): (path: string) => string | undefined {
  const isAllowedHere = inside(policy.allowed_paths);
  // On Linux a backslash is part of a name, so `a\b` is not inside `a`.
  const isAllowed = (path: string): boolean => isAllowedHere(path) && isAllowedHere(path.replaceAll('\\', '%5C'));
  const isForbidden = inside(policy.forbidden_paths);
  // Other systems may treat different names as equal.
  const isForbiddenThere = inside(policy.forbidden_paths.map(folded));
  return path => {
    if (isForbidden(path) || isForbiddenThere(folded(path))) return 'which is in a forbidden path';
    // allowed_paths does not apply to git's own files.
    if (path.startsWith('.git/')) return undefined;
    if (policy.execution_posture === 'read_only') return 'but the policy is read-only';
    return isAllowed(path) ? undefined : 'which is outside the allowed paths';
  };
}

function paths(changes: Changes, policy: EffectivePolicy): TreeViolation[] {
  const whyNot = pathBan(policy);
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

/** Drops what some systems ignore: streams after a colon, and trailing dots and spaces. */
function folded(path: string): string {
  return nameKey(path).replace(/:[^/]*|[. ]+(?=\/|$)/g, '');
}

function violation(kind: TreeViolation['class'], message: string): TreeViolation {
  return { class: kind, message, hard: true, source: kind === 'forbidden_path' ? 'tree' : 'git' };
}

function bounded(found: readonly TreeViolation[], kind: TreeViolation['class']): TreeViolation[] {
  if (found.length <= LISTED_MAX) return [...found];
  const more = violation(kind, `${found.length - LISTED_MAX} more violations of this class are not listed.`);
  return [...found.slice(0, LISTED_MAX), more];
}

const LISTED_MAX = 100;
