import path from 'node:path';
import { readJson } from '../../base/json.ts';
import { isPrintable } from '../../base/printable.ts';
import { readRegular } from '../../base/regular.ts';
import { notAFlag, pastedLine } from '../../base/shell.ts';
import { type Checker, openSeal, seal, type SealEnvelope } from '../../contracts/seal/index.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import type { PageCommand, PageEvidence } from './run-data.ts';

/** What a page knows about a run besides its documents. */
export interface RunStanding {
  readonly folder: string;
  /** `finished`, or why the run is not. */
  readonly life: 'finished' | 'alive' | 'dead' | 'foreign' | 'unknown';
  readonly isWhole: boolean;
  readonly keyIds: readonly string[] | null;
  readonly key: Checker | undefined;
  /** The word that names the run in commands. */
  readonly word: string;
}

/** Whether the folder verifies, who signed it, and the digest of each sealed file. */
export function evidencePart({ folder, life, isWhole, keyIds, key }: Omit<RunStanding, 'word'>): {
  readonly evidence: PageEvidence;
  readonly digests: ReadonlyMap<string, string>;
} {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  const envelope = reading?.ok ? reading.value : undefined;
  const opened = openSeal(envelope);
  const subject = opened.ok ? opened.statement.subject : undefined;
  return {
    evidence: {
      is_open: life !== 'finished',
      is_whole: isWhole,
      files: subject?.length ?? null,
      key_ids: keyIds?.slice(0, KEYS_MAX) ?? null,
      signed: key && opened.ok && keyIds ? key.hasSigned(envelope as SealEnvelope) : null,
    },
    digests: new Map(subject?.map(({ name, digest }) => [name, `sha256:${digest.sha256}`])),
  };
}

const KEYS_MAX = 10;

/** The state of an unfinished run, and what to do next. */
export function openSentence(name: string, life: RunStanding['life']): { word: string; sentence: string } {
  switch (life) {
    case 'alive':
      return { word: 'Running', sentence: `${name} is still running.` };
    case 'dead':
      return {
        word: 'Interrupted',
        sentence: `Proctor was interrupted while it ran ${name}. Run proctor recover to complete the run.`,
      };
    case 'foreign':
      return {
        word: 'Interrupted',
        sentence: `The run of ${name} is not finished. You did not start it on this machine, so Proctor cannot complete it.`,
      };
    default:
      return { word: 'Unfinished', sentence: `The run of ${name} is not finished, and its journal cannot be read.` };
  }
}

/** The commands for a run of any kind. An unfinished run has no evidence to verify or pack. */
export function usualCommands({ word, life }: Pick<RunStanding, 'word' | 'life'>): PageCommand[] {
  if (!isPrintable(word)) return [];
  if (life === 'dead') return [{ does: 'Complete the run', command: 'proctor recover' }];
  if (life !== 'finished') return [{ does: 'Show its state', command: commandFor(word, 'show') }];
  return [
    { does: 'Show the run in a terminal', command: commandFor(word, 'show') },
    { does: 'Check the evidence', command: commandFor(word, 'verify') },
    { does: 'Pack the run into one file', command: commandFor(word, 'pack') },
  ];
}

/** A command about a run. The name of its folder may come from elsewhere. */
export function commandFor(word: string, ...verb: readonly string[]): string {
  return pastedLine(['proctor', ...verb, ...notAFlag(word)]) ?? '';
}
