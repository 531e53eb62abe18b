import { cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { didYouMean } from '../../base/nearest.ts';
import { printable } from '../../base/printable.ts';
import { OWN_FILE } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import type { SuiteCase, SuiteTarget } from '../../contracts/suite/index.ts';
import { CASES, suiteCases } from '../../evidence/suite-folder.ts';
import type { AssetNote } from '../../evidence/suite-run.ts';
import { type WrittenCases, writeCases } from './case-list.ts';
import { readCases } from './cases-file.ts';

/** What was laid into the folder of a run before it begins. */
export interface LaidOut {
  readonly cases: WrittenCases;
  readonly assets: readonly AssetNote[];
}

/**
 * Writes the chosen cases of a file into the folder of a run, and beside them the scripts that will judge them. Refuses
 * cases that expect what Proctor cannot see of a target of this kind.
 */
export function layOutCases(
  file: string,
  only: readonly string[] | null,
  folder: string,
  kind?: SuiteTarget['kind'],
): LaidOut {
  return layOut(keep => readCases(file, keep, kind), { beside: path.dirname(file), only, folder });
}

/** Writes some cases of an earlier run into the folder of another one, as they were sent. */
export function layOutAgain(from: string, only: readonly string[], folder: string): LaidOut {
  const read = (keep: (one: SuiteCase) => void): void => {
    for (const one of suiteCases(from)) keep(one);
  };
  return layOut(read, { beside: from, only, folder });
}

interface Where {
  /** Where the paths of scripts begin. */
  readonly beside: string;
  readonly only: readonly string[] | null;
  readonly folder: string;
}

function layOut(read: (keep: (one: SuiteCase) => void) => void, { beside, only, folder }: Where): LaidOut {
  const wanted = only && new Set(only);
  const scripts = new Map<string, AssetNote>();
  /** Some of those that were not chosen, one of which may have been meant. */
  const others: string[] = [];
  let idBytes = 0;
  const cases = writeCases(path.join(folder, CASES), take => {
    read(one => {
      if (wanted && !wanted.delete(one.id)) {
        if (others.length < OTHERS_MAX) others.push(one.id);
        return;
      }
      idBytes += one.id.length + 3;
      if (idBytes > ID_BYTES_MAX)
        throw new Fault('too_many_cases', 'These are too many cases for one run. Split the suite.');
      take(withStoredScript(one, beside, folder, scripts));
    });
  });
  const [missing] = wanted ?? [];
  if (missing !== undefined) {
    throw new Fault(
      'no_case',
      `There is no case called "${printable(missing)}" among the cases.${didYouMean(missing, others)}`,
    );
  }
  return { cases, assets: [...new Map([...scripts.values()].map(note => [note.href, note])).values()] };
}

/** The same again, for another repetition. */
export function copyLayout(from: string, { cases, assets }: LaidOut, folder: string): LaidOut {
  for (const { href } of [{ href: CASES }, ...assets]) cpSync(path.join(from, href), path.join(folder, href));
  return { cases, assets };
}

/** A script that judges a case is evidence, too: it lies in the folder, and is named by its hash. */
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
    throw new Fault('no_script', `The script ${name}, which judges the case ${id}, is not a file of at most 1 MiB.`);
  }
  const sha256 = bytesHash(bytes);
  const ending = /\.(?:py|mjs|js|sh)$/.exec(file)?.[0] ?? '';
  const href = `assets/check_${sha256.slice('sha256:'.length, 'sha256:'.length + 16)}${ending}`;
  writeFileSync(path.join(folder, href), bytes, { mode: OWN_FILE });
  return { href, kind: 'other', caseId: null, bytes: bytes.length, sha256 };
}

const OTHERS_MAX = 10_000;

/** All ids stand in run.json, and it must stay within its own bound. */
const ID_BYTES_MAX = 15 * 1024 * 1024;

const SCRIPT_BYTES_MAX = 1024 * 1024;
