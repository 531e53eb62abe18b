import { Fault } from '../../base/fault.ts';
import { compare } from '../../contracts/check.ts';
import { INTERNAL, LATER } from '../../evidence/pack/pack-layout.ts';
import { sealOf } from '../../evidence/pack/pack.ts';
import { expiredIn } from '../../evidence/run-folder/expired.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import { walkFolder } from '../../verify/walk.ts';
import type { RunFile } from './file-view.ts';

/** The files of a sealed run folder, sorted by path: those that the seal lists, and those that are there besides. */
export function runFiles({ folder }: { readonly folder: string }): RunFile[] {
  const sealed = sealOf(folder);
  if (!sealed) throw new Fault('not_sealed', 'The run has no readable seal, so its files cannot be listed yet.');
  const tree = walkFolder(folder);
  if (!tree.ok) throw new Fault('unreadable_run', tree.message);
  const expired = expiredIn(folder);
  const isSuite = sealed.statement.predicate.kind === 'suite';
  const listed = new Set<string>();
  const files: RunFile[] = [];
  for (const { name, digest, annotations } of sealed.statement.subject) {
    listed.add(name);
    const bytes = annotations.size_bytes;
    const state = sealedState(name, bytes, tree.files.get(name), expired);
    files.push({
      path: name,
      bytes,
      sha256: `sha256:${digest.sha256}`,
      ...kindOf(name, isSuite),
      is_sealed: true,
      state,
    });
  }
  const others = [...tree.files].filter(([name]) => !listed.has(name));
  for (const [name, bytes] of others) {
    const isOurs = name === SEAL || LATER.includes(name);
    const state = name.startsWith(INTERNAL) ? 'internal' : isOurs ? 'there' : 'not_sealed';
    files.push({ path: name, bytes, sha256: null, ...kindOf(name, isSuite), is_sealed: false, state });
  }
  for (const { path } of tree.odd)
    if (!listed.has(path))
      files.push({ path, bytes: null, sha256: null, ...kindOf(path, isSuite), is_sealed: false, state: 'no_file' });
  return files.sort((a, b) => compare(a.path, b.path));
}

function sealedState(
  name: string,
  bytes: number,
  found: number | undefined,
  expired: ReadonlySet<string>,
): RunFile['state'] {
  if (name.startsWith(INTERNAL)) return 'internal';
  if (found === undefined) return expired.has(name) ? 'expired' : 'missing';
  return found === bytes ? 'there' : 'changed';
}

/** What a file is, as its path says. */
function kindOf(name: string, isSuite: boolean): Pick<RunFile, 'role' | 'step'> {
  const [, step = null, rest = ''] = /^evidence\/steps\/([^/]+)\/(.+)$/.exec(name) ?? [];
  if (step !== null) return { role: STEP_ROLES[rest] ?? 'document', step };
  if (name.startsWith(INTERNAL)) return { role: 'internal', step };
  if (name.startsWith('output/')) return { role: 'output', step };
  if (name.startsWith('assets/')) return { role: 'asset', step };
  if (/(?:^|[./])seal\.json$/.test(name)) return { role: 'seal', step };
  return { role: isSuite && /^[^/]+\.json$/.test(name) && !OF_SUITES.has(name) ? 'case' : 'document', step };
}

const STEP_ROLES: Readonly<Record<string, RunFile['role']>> = {
  'stdout.txt': 'stream',
  'stderr.txt': 'stream',
  'transcript.ndjson': 'transcript',
};

const OF_SUITES = new Set(['run.json', 'evaluation.json']);
