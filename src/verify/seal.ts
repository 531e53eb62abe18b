import path from 'node:path';
import { tornFile } from '../base/atomic.ts';
import { openSeal, type SealStatement } from '../contracts/seal/index.ts';
import { INTERNAL, LATER as LATER_FILES } from '../evidence/pack-layout.ts';
import { SL } from './folder-rules.ts';
import type { FolderFinding, Inspector, Surroundings } from './inspector.ts';
import { above, filesBelow } from './walk.ts';

interface Seal {
  readonly file: string;
  /** The folder that it seals, with a slash at its end; '' is the top. */
  readonly below: string;
  /** What its names begin with that lies around the folder: where evidence/ alone was given, the name of that. */
  readonly around: string;
  readonly subjects: SealStatement['subject'];
}

export interface SealInspector extends Inspector {
  /** The files that some seal names. */
  readonly sealed: ReadonlySet<string>;
  /** How many sealed files lie out of the folder, as all others do where only evidence/ was given. */
  readonly outside: number;
  /** What seals leave open. */
  readonly notChecked: readonly string[];
}

/** SL5, SL6 and SL7: what was sealed against what is there. `disputed` are files of which enough was said already. */
export function sealInspector(
  { tree, hashOf, troubled, isForeign, journals, isStartedHere, report }: Surroundings,
  disputed: ReadonlySet<string>,
): SealInspector {
  const seals: Seal[] = [];
  const sealed = new Set<string>();
  const notChecked: string[] = [];
  /** Folders of evidence that Proctor itself wrote, which it seals without exception. */
  const runs = new Set<string>();
  let outside = 0;

  function* changed(seal: Seal): Generator<FolderFinding> {
    const { subjects } = seal;
    const isGone = (name: string): boolean => !tree.files.has(fileOf(seal, name));
    const internal = subjects.filter(({ name }) => name.startsWith(INTERNAL));
    const isPublic = internal.length > 0 && internal.every(({ name }) => isGone(name));
    if (isPublic) notChecked.push('the internal files, which are not here');
    for (const { name, digest, annotations } of subjects) {
      const file = fileOf(seal, name);
      if (disputed.has(file) || (isPublic && name.startsWith(INTERNAL))) continue;
      const place = { rule: SL.SL5.id, level: 'must', file } as const;
      const size = tree.files.get(file);
      if (size === undefined) yield { ...place, message: 'was sealed, and is not there' };
      else if (size !== annotations.size_bytes) {
        yield { ...place, message: `has ${size} bytes, and was sealed with ${annotations.size_bytes}` };
      } else if (hashOf(file) !== `sha256:${digest.sha256}`) {
        yield { ...place, message: 'is not what was sealed: its hash differs' };
      }
    }
  }

  function* extra({ file: seal, below, around }: Seal): Generator<FolderFinding> {
    for (const file of filesBelow(below, tree)) {
      const isLater = LATER.has(around + file.slice(below.length));
      if (sealed.has(file) || file === seal || isLater || journals.has(file)) continue;
      const isTorn = LATER.has(tornFile(path.posix.basename(file)) ?? '');
      yield {
        rule: SL.SL6.id,
        // Nothing reads such a part, and a judge that is killed leaves one in a run that is whole.
        level: isTorn ? 'should' : 'must',
        file,
        message: isTorn ? TORN : 'is not named by the seal of this folder',
      };
    }
  }

  /** A seal that is broken has a verdict of its own. */
  function isSealed(): boolean {
    return seals.length > 0 || [...troubled].some(file => path.posix.basename(file) === 'seal.json');
  }

  function isEvidence(file: string): boolean {
    return /(?:^|\/)evidence\//.test(file) && !isForeign(file);
  }

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
        for (const finding of changed(seal)) report(finding);
        for (const finding of extra(seal)) report(finding);
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
      if (tree.paths.some(isEvidence) && !isSealed())
        notChecked.push('whether a file was exchanged, added or lost: there is no seal');
    },
  };
}

/** Where a sealed file lies, or should. */
function fileOf({ below, around }: Seal, name: string): string {
  return below + name.slice(around.length);
}

/** Documents that only a run of ours writes, and every such run is sealed. */
const SEALED: ReadonlySet<string> = new Set([
  'script-outcome',
  'script-request',
  'suite-request',
  'intent-outcome',
  'intent-request',
  'agent-outcome',
]);

const UNSEALED = 'is missing: any file may have been changed, added or taken away';

const UNFINISHED = 'is the journal of a run that is not finished: proctor recover finishes it';

const FOREIGN = 'is the journal of a run that is not finished: interrupted, not started here';

const TORN = 'is a part of an evaluation or its seal that was interrupted: delete it';

/** What may come after the seal. */
const LATER: ReadonlySet<string> = new Set(LATER_FILES);
