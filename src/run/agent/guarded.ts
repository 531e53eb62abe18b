import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { EffectivePolicy } from '../../contracts/agent-step/policy.ts';
import type { Clone } from '../../execute/clone.ts';
import { readOnlyIn } from '../../execute/read-only-paths.ts';
import { HELD_BY } from '../../policy/held-operations.ts';

/** What the sandbox shows read-only within a tree that may be written, and what the summary of the policy says about it. */
export interface Guarded {
  readonly readOnly: readonly string[];
  readonly notes: readonly string[];
}

/** Prevents what can be prevented of a policy, and says of the rest that it is judged afterwards. */
export function guardedIn({ tree }: Pick<Clone, 'tree'>, policy: EffectivePolicy): Guarded {
  const { execution_posture, forbidden_paths, forbidden_operations } = policy;
  if (execution_posture === 'read_only') return { readOnly: [], notes: [] };
  const { mounted, afterwards } = readOnlyIn(tree, forbidden_paths);
  // It holds no hook, and an agent that cannot write to it makes none.
  if (forbidden_operations.includes('configure')) mkdirSync(path.join(tree, '.git', 'hooks'), { recursive: true });
  const held = forbidden_operations.flatMap(operation => HELD_BY[operation] ?? []);
  const later = forbidden_operations.filter(operation => Object.hasOwn(JUDGED, operation));
  return {
    readOnly: [...mounted, ...readOnlyIn(tree, held).mounted],
    notes: [
      ...(mounted.length > 0 ? [`forbidden_paths: read-only in the sandbox: ${listed(mounted)}`] : []),
      ...(afterwards.length > 0
        ? [`forbidden_paths: judged afterwards, because they are not there yet or are links: ${listed(afterwards)}`]
        : []),
      ...(held.length > 0 ? [`forbidden_operations: read-only in the sandbox: ${held.join(', ')}`] : []),
      ...later.map(operation => `forbidden_operations: ${operation} is judged afterwards: ${JUDGED[operation]}`),
    ],
  };
}

const JUDGED: Readonly<Record<string, string>> = {
  delete: 'by the files that are missing, so that a file which was put back counts as not deleted',
  force: 'by the history of the branch of the run, so that one which was put back counts as not rewritten',
  push: 'there is no network to push to; a push to a folder of the sandbox leaves nothing, and is not seen',
};

function listed(paths: readonly string[]): string {
  const more = paths.length > LISTED_MAX ? ` and ${paths.length - LISTED_MAX} more` : '';
  return `${paths.slice(0, LISTED_MAX).join(', ')}${more}`;
}

const LISTED_MAX = 20;
