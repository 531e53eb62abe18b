import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import path from 'node:path';
import { readChunk } from '../../base/chunk.ts';
import { Masker, needlesOf } from '../../base/masker.ts';
import type { Needles } from '../../base/needles.ts';
import { replaceFile } from '../../base/replace.ts';
import type { Changes } from '../../contracts/agent-step/changes.ts';
import type { EffectivePolicy } from '../../contracts/agent-step/policy.ts';
import { violationsIn } from '../../policy/agent-violations.ts';
import { takeChanges } from './changes.ts';
import type { Clone } from './clone.ts';
import { git } from './git.ts';
import { preparedIn } from './prepared-files.ts';
import { listingOf } from './tree-state.ts';

/**
 * Saves an agent's changes to its work tree after Proctor has died, for recovery. The tree is on the sandbox's disk and
 * disappears with it. The facts are written last, so their presence means that the diff is complete.
 *
 * A separate bundle, because the launcher starts for every run and rarely needs it.
 */
export async function keepTree(
  kept: KeepTree,
  secrets: readonly string[],
  stage: string,
  workFolder: string,
): Promise<void> {
  if (!existsSync(path.dirname(kept.facts))) return;
  const clone = await cloneIn(stage, kept.clone, kept.isReadOnly);
  const workTree = kept.isReadOnly ? clone.tree : path.join(workFolder, 'output');
  const needles = needlesOf(secrets);
  const changes = await takeChanges(clone, workTree, kept.diff);
  const mask = (text: string): string => new Masker(needles).whole(Buffer.from(text)).toString();
  const breaches = violationsIn(changes, kept.policy).map(({ message, path: at, ...violation }) =>
    Object.assign(violation, { message: mask(message) }, at !== undefined && { path: mask(at) }),
  );
  const notes = clone.notes.map(mask);
  const holds = holdsSecret(kept.diff, needles);
  const text = JSON.stringify({ changes: maskedChanges(changes, mask), breaches, notes, holdsSecret: holds });
  const bytes = Buffer.byteLength(text);
  if (bytes <= kept.factsBytesMax) replaceFile(kept.facts, text, bytes);
}

export interface KeepTree {
  /** Without the lists of its files, which are long and can be read again. */
  readonly clone: Omit<Clone, 'baseFiles' | 'prepared'>;
  readonly isReadOnly: boolean;
  readonly policy: EffectivePolicy;
  /** Target files for the facts and the diff. Their folder exists once the run has started. */
  readonly facts: string;
  readonly diff: string;
  readonly factsBytesMax: number;
}

/** The clone with the new path of its stage, which has been renamed. */
async function cloneIn(stage: string, clone: KeepTree['clone'], isReadOnly: boolean): Promise<Clone> {
  const trusted = path.join(stage, path.basename(clone.trusted));
  // Proctor may have died while importing the changes. Git does not overwrite a ref with another commit.
  rmSync(path.join(trusted, 'refs', 'proctor'), { recursive: true, force: true });
  const prepared = preparedIn(stage);
  return {
    ...clone,
    ...(prepared && { prepared }),
    trusted,
    tree: path.join(stage, isReadOnly ? 'work' : 'roots'),
    baseFiles: await git(listingOf(clone.baseSha), { gitDir: trusted }),
  };
}

/** The agent chooses file and branch names, so they may contain a secret. */
function maskedChanges(changes: Changes, mask: (text: string) => string): Changes {
  const named = <Item extends { readonly path: string }>(item: Item): Item => ({ ...item, path: mask(item.path) });
  const { ignored, commits } = changes;
  return {
    ...changes,
    changed: changes.changed.map(named),
    ignored: { ...ignored, paths: ignored.paths.map(mask) },
    commits: { ...commits, listed: commits.listed.map(({ sha, subject }) => ({ sha, subject: mask(subject) })) },
    refs: changes.refs.map(ref => ({ ...ref, name: mask(ref.name) })),
    hooks: changes.hooks.map(mask),
    nested: changes.nested.map(mask),
    submodules: changes.submodules.map(named),
    linksOut: changes.linksOut.map(mask),
    collisions: changes.collisions.map(mask),
    leftOut: changes.leftOut.map(named),
    needsReview: changes.needsReview.map(named),
    notes: changes.notes.map(mask),
  };
}

/** Diffs are never masked, only flagged. */
function holdsSecret(file: string, needles: Needles): boolean {
  const masker = new Masker(needles);
  const fd = openSync(file, 'r');
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readChunk(fd, chunk);
      if (length === 0) break;
      masker.pieces(chunk.subarray(0, length));
      if (masker.masked > 0) return true;
    }
    masker.end();
    return masker.masked > 0;
  } finally {
    closeSync(fd);
  }
}

const CHUNK_BYTES = 256 * 1024;
