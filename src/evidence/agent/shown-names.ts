import { redact } from '../../base/redact.ts';
import type { WorkspaceStatus } from '../../contracts/workspace/index.ts';

/** Shows file names as in the masked status of the work tree, because the diff itself is not masked. */
export function shownNames(workspace: WorkspaceStatus | undefined): (path: string) => string {
  const changed = workspace?.changed;
  const known = new Set(changed?.listed.map(({ path }) => path));
  const isAll = changed !== undefined && changed.total === changed.listed.length;
  return path => (known.has(path) ? path : isAll ? '[masked]' : redact(path).text);
}
