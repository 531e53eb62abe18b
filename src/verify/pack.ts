import { closeSync } from 'node:fs';
import path from 'node:path';
import { sealOf } from '../evidence/pack/pack.ts';
import { looksPacked, type PackFault, type PackFile, packFile } from '../evidence/pack/pack-file.ts';
import { FOLDER } from '../evidence/pack/pack-layout.ts';
import type { Options } from './options.ts';
import { notRead } from './file.ts';
import { verifySource } from './folder.ts';
import { collectFindings, type FolderFinding } from './inspector.ts';
import { packInspector } from './pack-inspector.ts';
import { judgeLine, outsideOf } from './pack-outside.ts';
import { PK } from './pack-rules.ts';
import { folderSource, packSource } from './file-source.ts';
import { fileChange, openForReading } from './source.ts';
import { refused, type Verdict } from './verdict.ts';

/** Whether to treat a file as a pack, by its first bytes or its name. */
export function isPack(file: string): boolean {
  if (/\.(?:json|ndjson|jsonl)$/i.test(file)) return false;
  const opened = openForReading(file);
  if (!opened.ok) return false;
  try {
    return file.endsWith(PACK_ENDING) || looksPacked(opened.fd);
  } finally {
    closeSync(opened.fd);
  }
}

export const PACK_ENDING = '.proctor.tar';

/** Verifies every document in a pack, then the pack itself. Reads the pack in place and extracts nothing. */
export async function* verifyPack(file: string, options: Options): AsyncGenerator<readonly Verdict[]> {
  const opened = openForReading(file);
  if (!opened.ok) {
    yield [notRead(file, opened)];
    return;
  }
  const pack = packFile(opened.fd);
  try {
    yield* verifyOpenPack(file, pack, options);
    const change = fileChange(opened);
    if (change) yield [notRead(file, change)];
  } finally {
    pack.close();
  }
}

/** The same for an open pack. */
export async function* verifyOpenPack(
  input: string,
  pack: PackFile,
  options: Options,
): AsyncGenerator<readonly Verdict[]> {
  if (!looksPacked(pack.fd) && pack.entries.size === 0) {
    yield [
      refused(
        input,
        'not_a_pack',
        'The file is not a pack: it does not start like a tar archive, or it is compressed.',
      ),
    ];
    return;
  }
  const findings = pack.faults.map(fault => findingOf(fault, input));
  if (pack.isCut) {
    yield [cut(input, findings)];
    return;
  }
  const { sealed, isKnown, beside, findings: found } = await outsideOf(input, pack, options);
  const shelf = packSource(input, pack, file => isKnown(FOLDER + file));
  yield* verifySource(shelf, options, {
    findings: [...findings, ...found],
    beside,
    inspect: surroundings => (sealed ? [packInspector(sealed, surroundings)] : []),
  });
}

/**
 * Verifies a folder before packing: by the rules for folders, and by those that a pack with this ledger line must
 * satisfy.
 */
export async function* verifyPackable(folder: string, ledgerLine?: string): AsyncGenerator<readonly Verdict[]> {
  const shelf = folderSource(folder);
  if (!shelf.ok) {
    yield [notRead(folder, shelf)];
    return;
  }
  const opened = sealOf(folder);
  const line = ledgerLine === undefined ? undefined : await judgeLine(Buffer.from(ledgerLine), opened, folder, {});
  yield* verifySource(
    shelf,
    {},
    {
      findings: line?.findings ?? [],
      inspect: surroundings => {
        const { run_id: runId, kind } = opened?.statement.predicate ?? {};
        if (runId === undefined || kind === undefined) return [];
        return [packInspector({ runId, kind, ledger: line?.intent }, surroundings)];
      },
    },
  );
}

/** Nothing else is checked in an archive that cannot be read to its end, because files that seem missing may exist. */
function cut(input: string, findings: readonly FolderFinding[]): Verdict {
  const { found, report } = collectFindings();
  for (const finding of findings) report(finding);
  return {
    input,
    outcome: 'invalid',
    contract: 'pack',
    violations: found.findings().violations,
    advice: [],
    not_checked: ['the content of the archive, which could not be read to its end'],
  };
}

function findingOf({ fault, path: file, what }: PackFault, input: string): FolderFinding {
  return { rule: RULES[fault].id, level: 'must', file: file === '' ? path.basename(input) : file, message: what };
}

/** The rule that each kind of archive fault violates. */
const RULES = { link: PK.PK6, path: PK.PK7, meta: PK.PK11, kind: PK.PK12, form: PK.PK15 } as const;
