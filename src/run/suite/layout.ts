import { cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { didYouMean } from '../../base/nearest.ts';
import { printable } from '../../base/printable.ts';
import { OWN_FILE } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import type { Shard, SuiteCase } from '../../contracts/suite/index.ts';
import { CASES, suiteCases } from '../../evidence/suite/suite-folder.ts';
import type { AssetNote } from '../../evidence/suite/suite-run.ts';
import type { AskedTarget } from './case-findings.ts';
import { type WrittenCases, writeCases } from './case-list.ts';
import { readCases } from './cases-file.ts';

export interface LaidOut {
  readonly cases: WrittenCases;
  /** The cases of all shards; the same as `cases` without shards. */
  readonly all: WrittenCases;
  readonly assets: readonly AssetNote[];
}

/**
 * Writes selected cases from a file, and their check scripts, into a run folder. Rejects cases with keys and
 * expectations that do not fit the target.
 */
export function layOutCases(
  file: string,
  only: readonly string[] | null,
  folder: string,
  asked?: AskedTarget,
  shard?: Shard,
): LaidOut {
  return layOut(keep => readCases(file, keep, asked), { beside: path.dirname(file), only, folder, shard });
}

/** Writes some cases of an earlier run into another run folder, as they were sent. */
export function layOutAgain(from: string, only: readonly string[], folder: string): LaidOut {
  const read = (keep: (one: SuiteCase) => void): void => {
    for (const one of suiteCases(from)) keep(one);
  };
  return layOut(read, { beside: from, only, folder });
}

interface Where {
  /** The folder that script paths are relative to. */
  readonly beside: string;
  readonly only: readonly string[] | null;
  readonly folder: string;
  readonly shard?: Shard | undefined;
}

function layOut(read: (keep: (one: SuiteCase) => void) => void, { beside, only, folder, shard }: Where): LaidOut {
  const wanted = only && new Set(only);
  const scripts = new Map<string, AssetNote>();
  /** Candidates for a "did you mean" suggestion. */
  const others: string[] = [];
  let idBytes = 0;
  const fill = (take: (one: SuiteCase) => void): void =>
    read(one => {
      if (wanted && !wanted.delete(one.id)) {
        if (others.length < OTHERS_MAX) others.push(one.id);
        return;
      }
      idBytes += one.id.length + 3;
      if (idBytes > ID_BYTES_MAX)
        throw new Fault('too_many_cases', 'The suite has too many cases for one run. Split it.');
      take(withStoredScript(one, beside, folder, scripts));
    });
  const { written: cases, all } = writeCases(path.join(folder, CASES), fill, shard);
  const [missing] = wanted ?? [];
  if (missing !== undefined) {
    throw new Fault('no_case', `There is no case "${printable(missing)}".${didYouMean(missing, others)}`);
  }
  return { cases, all, assets: [...new Map([...scripts.values()].map(note => [note.href, note])).values()] };
}

/** Copies the files for another repetition. */
export function copyLayout(from: string, laid: LaidOut, folder: string): LaidOut {
  for (const { href } of [{ href: CASES }, ...laid.assets]) cpSync(path.join(from, href), path.join(folder, href));
  return laid;
}

/** Stores a case's check script under its hash, because the script is evidence. */
function withStoredScript(one: SuiteCase, beside: string, folder: string, stored: Map<string, AssetNote>): SuiteCase {
  const script = one.expected?.script;
  if (!script) return one;
  const note = stored.get(script.file) ?? storeScript(one.id, path.resolve(beside, script.file), folder);
  stored.set(script.file, note);
  return { ...one, expected: { ...one.expected, script: { ...script, file: note.href } } };
}

function storeScript(id: string, file: string, folder: string): AssetNote {
  const bytes = readRegular(file, SCRIPT_BYTES_MAX);
  if (!bytes) {
    const name = printable(path.basename(file));
    throw new Fault('no_script', `The check script ${name} of case ${id} must be a regular file of at most 1 MiB.`);
  }
  const sha256 = bytesHash(bytes);
  const ending = /\.(?:py|mjs|js|sh)$/.exec(file)?.[0] ?? '';
  const href = `assets/check_${sha256.slice('sha256:'.length, 'sha256:'.length + 16)}${ending}`;
  writeFileSync(path.join(folder, href), bytes, { mode: OWN_FILE });
  return { href, kind: 'other', caseId: null, bytes: bytes.length, sha256 };
}

const OTHERS_MAX = 10_000;

/** run.json lists all ids and must stay within its size limit. */
const ID_BYTES_MAX = 15 * 1024 * 1024;

const SCRIPT_BYTES_MAX = 1024 * 1024;
