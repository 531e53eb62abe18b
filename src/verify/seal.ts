import path from 'node:path';
import { tornFile } from '../base/atomic.ts';
import { openSeal, type SealStatement } from '../contracts/seal/index.ts';
import { INTERNAL, LATER as LATER_FILES } from '../evidence/pack/pack-layout.ts';
import { SL } from './folder-rules.ts';
import type { FolderFinding, Inspector, Surroundings } from './inspector.ts';
import { above, filesBelow } from './walk.ts';

interface Seal {
  readonly file: string;
  /** The sealed folder with a trailing slash, or '' for the top. */
  readonly below: string;
  /**
   * The prefix of sealed names that is not part of the verified folder: `evidence/` if only that folder is verified.
   */
  readonly around: string;
  readonly subjects: SealStatement['subject'];
}

export interface SealInspector extends Inspector {
  /** Files that a seal lists. */
  readonly sealed: ReadonlySet<string>;
  /** The number of sealed files outside the folder, if only evidence/ is verified. */
  readonly outside: number;
  readonly notChecked: readonly string[];
}

/** SL5, SL6 and SL7: compares sealed files with existing files. Skips `disputed` files, which are already reported. */
export function sealInspector(surroundings: Surroundings, disputed: ReadonlySet<string>): SealInspector {
  const { tree, troubled, isForeign, journals, isStartedHere, report } = surroundings;
  const seals: Seal[] = [];
  const sealed = new Set<string>();
  const notChecked: string[] = [];
  /** Evidence folders written by Proctor, which seals every run. */
  const runs = new Set<string>();
  let outside = 0;

  return {
    sealed,
    notChecked,
    get outside() {
      return outside;
    },
    take({ file, contract, value }) {
      if (SEALED.has(contract.name)) runs.add(path.posix.dirname(file));
      if (contract.name !== 'seal') return;
      const opened = openSeal(value);
      if (!opened.ok) return;
      const folder = above(file, contract.claimsFrom ?? 0);
      const around = folder === undefined ? 'evidence/' : '';
      const subjects = opened.statement.subject.filter(({ name }) => name.startsWith(around));
      outside += opened.statement.subject.length - subjects.length;
      const seal = { file, below: folder ? `${folder}/` : '', around, subjects };
      seals.push(seal);
      for (const { name } of subjects) sealed.add(fileOf(seal, name));
    },

    end() {
      for (const seal of seals) {
        const isPublic = lacksInternal(seal, surroundings);
        if (isPublic) notChecked.push('the internal files, which are not included');
        for (const finding of changed(seal, isPublic, disputed, surroundings)) report(finding);
        for (const finding of extra(seal, sealed, surroundings)) report(finding);
      }
      for (const folder of runs) {
        const file = path.posix.join(folder, 'seal.json');
        const isFinished = !journals.has(path.posix.join(path.posix.dirname(folder), 'journal.ndjson'));
        if (isFinished && !tree.files.has(file)) report({ rule: SL.SL5.id, level: 'must', file, message: UNSEALED });
      }
      for (const file of journals) {
        const message = isStartedHere(file) ? UNFINISHED : FOREIGN;
        report({ rule: SL.SL7.id, level: 'must', file, message });
      }
      // An invalid seal has its own verdict.
      const isSealed = seals.length > 0 || [...troubled].some(file => path.posix.basename(file) === 'seal.json');
      if (!isSealed && tree.paths.some(file => /(?:^|\/)evidence\//.test(file) && !isForeign(file)))
        notChecked.push('whether files were changed, added or removed: there is no seal');
    },
  };
}

/** Whether all internal files are missing, because the evidence was shared without them. */
function lacksInternal(seal: Seal, { tree, isExpired }: Surroundings): boolean {
  const internal = seal.subjects.filter(({ name }) => name.startsWith(INTERNAL) && !isExpired(fileOf(seal, name)));
  return internal.length > 0 && internal.every(({ name }) => !tree.files.has(fileOf(seal, name)));
}

function* changed(
  seal: Seal,
  isPublic: boolean,
  disputed: ReadonlySet<string>,
  { tree, hashOf, isExpired }: Surroundings,
): Generator<FolderFinding> {
  for (const { name, digest, annotations } of seal.subjects) {
    const file = fileOf(seal, name);
    if (isExpired(file) || disputed.has(file) || (isPublic && name.startsWith(INTERNAL))) continue;
    const place = { rule: SL.SL5.id, level: 'must', file } as const;
    const size = tree.files.get(file);
    if (size === undefined) yield { ...place, message: 'was sealed, but is missing' };
    else if (size !== annotations.size_bytes) {
      yield { ...place, message: `has ${size} bytes, but was sealed with ${annotations.size_bytes}` };
    } else if (hashOf(file) !== `sha256:${digest.sha256}`) {
      yield { ...place, message: 'was changed after it was sealed: its hash differs' };
    }
  }
}

function* extra(
  { file: seal, below, around }: Seal,
  sealed: ReadonlySet<string>,
  { tree, journals }: Surroundings,
): Generator<FolderFinding> {
  for (const file of filesBelow(below, tree)) {
    const isLater = LATER.has(around + file.slice(below.length));
    if (sealed.has(file) || file === seal || isLater || journals.has(file)) continue;
    // Nothing reads a temporary file, and interrupted judging can leave one in an intact run.
    const isTorn = LATER.has(tornFile(path.posix.basename(file)) ?? '');
    const [level, message] = isTorn ? (['should', TORN] as const) : (['must', UNLISTED] as const);
    yield { rule: SL.SL6.id, level, file, message };
  }
}

function fileOf({ below, around }: Seal, name: string): string {
  return below + name.slice(around.length);
}

/** Documents that only Proctor writes. Every run that has one must be sealed. */
const SEALED: ReadonlySet<string> = new Set([
  'script-outcome',
  'script-request',
  'suite-request',
  'intent-outcome',
  'intent-request',
  'agent-outcome',
]);

const UNSEALED = 'is missing: files may have been changed, added or removed';

const UNFINISHED = 'belongs to an unfinished run: run proctor recover to finish it';

const FOREIGN = 'belongs to an interrupted run that you did not start on this machine';

const UNLISTED = 'is not listed in the seal of this folder';

const TORN = 'is a leftover of an interrupted evaluation: delete it';

/** Files that may be added after the seal. */
const LATER: ReadonlySet<string> = new Set(LATER_FILES);
