import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { readBelow } from '../base/regular.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { NO_SEAL, notAsSealed, SealedFolder } from '../evidence/run-folder/sealed-folder.ts';
import { CASES, readCaseArtifact } from '../evidence/suite/suite-folder.ts';

/** A run folder that does not match its seal. */
export interface Damage {
  readonly folder: string;
  readonly runId: string;
  /** The first difference, as a sentence without its full stop. */
  readonly trouble: string;
}

/** The folders that do not match their seals. Reads every file. Throws if a folder has no readable seal. */
export async function damageIn(folders: readonly (string | undefined)[]): Promise<Damage[]> {
  const damage: Damage[] = [];
  for (const folder of new Set(folders.filter(one => one !== undefined))) {
    const trouble = await openSealed(folder).firstChange();
    if (trouble !== undefined) damage.push({ folder, runId: path.basename(folder), trouble });
  }
  return damage;
}

/**
 * The files of a suite run, for a page. A page of an intact run throws if a file does not match the seal. A page of a
 * damaged run shows the file, and names it.
 */
export class ShownRun {
  readonly folder: string;
  readonly #sealed: SealedFolder;
  readonly #isDamaged: boolean;
  readonly #changed = new Set<string>();
  /** How many bytes were read so far. */
  bytesRead = 0;

  constructor(folder: string, damage: readonly Damage[] = []) {
    this.folder = folder;
    this.#sealed = openSealed(folder);
    this.#isDamaged = damage.some(one => one.folder === folder);
    for (const name of ['run.json', 'evidence/request.json', CASES]) {
      this.#checked(name, () => this.#sealed.demand([name]));
    }
  }

  /** Whether a file that was read does not match the seal. */
  isChanged(name: string): boolean {
    return this.#changed.has(name);
  }

  /** The answer to a case that the page does not show; undefined if it was changed. */
  provenArtifact(caseId: string): CaseArtifact | undefined {
    const artifact = this.artifactOf(caseId);
    return this.isChanged(`${caseId}.json`) ? undefined : artifact;
  }

  artifactOf(caseId: string): CaseArtifact | undefined {
    return readCaseArtifact(this.folder, caseId, (name, bytesMax) => this.read(name, bytesMax));
  }

  read(name: string, bytesMax: number): Buffer | undefined {
    const bytes = this.#checked(name, () => this.#sealed.read(name, bytesMax));
    this.bytesRead += bytes?.length ?? 0;
    return this.isChanged(name) ? readBelow(this.folder, name, bytesMax) : bytes;
  }

  #checked<Value>(name: string, look: () => Value): Value | undefined {
    try {
      return look();
    } catch (error) {
      if (!this.#isDamaged || !(error instanceof Fault && error.code === 'not_as_sealed')) throw error;
      this.#changed.add(name);
      return undefined;
    }
  }
}

function openSealed(folder: string): SealedFolder {
  const sealed = SealedFolder.open(folder);
  if (!sealed) throw notAsSealed(folder, NO_SEAL);
  return sealed;
}
