import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { EffectivePolicy } from '../../contracts/agent-step/policy.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import { readOnlyIn } from '../../execute/sandboxes/read-only-paths.ts';
import { HELD_BY } from '../../policy/held-operations.ts';

/** Paths that the sandbox mounts read-only in a writable tree, and the notes about them in the policy summary. */
export interface Guarded {
  readonly readOnly: readonly string[];
  readonly notes: readonly string[];
}

/** Selects the protected paths that the sandbox can mount read-only. Proctor checks the rest after the run. */
export function guardedIn({ tree }: Pick<Clone, 'tree'>, policy: EffectivePolicy): Guarded {
  const { execution_posture, forbidden_paths, forbidden_operations } = policy;
  if (execution_posture === 'read_only') return { readOnly: [], notes: [] };
  const { mounted, afterwards } = readOnlyIn(tree, forbidden_paths);
  // The folder contains no hooks, and a read-only mount keeps it that way.
  if (forbidden_operations.includes('configure')) mkdirSync(path.join(tree, '.git', 'hooks'), { recursive: true });
  const held = forbidden_operations.flatMap(operation => HELD_BY[operation] ?? []);
  const later = forbidden_operations.filter(operation => Object.hasOwn(JUDGED, operation));
  return {
    readOnly: [...mounted, ...readOnlyIn(tree, held).mounted],
    notes: [
      ...(mounted.length > 0 ? [`forbidden_paths: read-only in the sandbox: ${listed(mounted)}`] : []),
      ...(afterwards.length > 0
        ? [
            `forbidden_paths: checked after the run, because they do not exist yet or are symlinks: ${listed(afterwards)}`,
          ]
        : []),
      ...(held.length > 0 ? [`forbidden_operations: read-only in the sandbox: ${held.join(', ')}`] : []),
      ...later.map(operation => `forbidden_operations: ${operation} is checked after the run: ${JUDGED[operation]}`),
    ],
  };
}

const JUDGED: Readonly<Record<string, string>> = {
  delete: 'by looking for missing files; a restored file does not count as deleted',
  force: 'by comparing the branch history; a restored history does not count as rewritten',
  push: 'there is no network to push to; a push to a folder inside the sandbox has no effect and is not detected',
};

function listed(paths: readonly string[]): string {
  const more = paths.length > LISTED_MAX ? ` and ${paths.length - LISTED_MAX} more` : '';
  return `${paths.slice(0, LISTED_MAX).join(', ')}${more}`;
}

const LISTED_MAX = 20;
