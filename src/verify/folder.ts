import path from 'node:path';
import { isLedger } from './chain.ts';
import type { Examined } from './examine.ts';
import { notRead } from './file.ts';
import { documentReader } from './folder-documents.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import { Inspection } from './inspection.ts';
import {
  collectFindings,
  type FolderFinding,
  type Inspector,
  type ReportFinding,
  type Surroundings,
} from './inspector.ts';
import type { LedgerRuns } from './ledger.ts';
import type { Options } from './options.ts';
import { folderSource, type FileSource } from './file-source.ts';
import { Sum } from './sum.ts';
import { refused, type Verdict } from './verdict.ts';

/**
 * Judges every document in a folder, then the folder itself: how its documents agree with each other and with the
 * files.
 */
export async function* verifyFolder(folder: string, options: Options): AsyncGenerator<readonly Verdict[]> {
  const shelf = folderSource(folder);
  if (shelf.ok) yield* verifySource(shelf, options);
  else yield [notRead(folder, shelf)];
}

/** Additional checks for packs. */
export interface Beyond {
  readonly inspect: (surroundings: Surroundings) => readonly Inspector[];
  /** Documents outside the run folder. */
  readonly beside?: readonly Examined[];
  readonly findings?: readonly FolderFinding[];
}

/** The same for any source of files. */
export async function* verifySource(
  shelf: FileSource,
  options: Options,
  { inspect, beside = [], findings = [] }: Beyond = { inspect: () => [] },
): AsyncGenerator<readonly Verdict[]> {
  const { tree, isForeign } = shelf;
  const { found, report } = collectFindings();
  for (const finding of findings) report(finding);
  for (const { path: file, what } of tree.odd)
    report({ rule: FOLDER_RULES.FD1.id, level: 'must', file, message: what });
  const inspection = new Inspection(shelf, options, report, inspect);
  const ledgers = await ledgersOf(shelf, report);
  const documentsIn = documentReader(shelf, options);
  const sum = new Sum(shelf.input);
  for (const file of tree.files.keys()) {
    if (isForeign(file) || inspection.journals.has(file)) continue;
    for (const document of documentsIn(file)) {
      const examined = document instanceof Promise ? await document : document;
      if (inspection.setsAside(file, examined.verdict)) continue;
      const place = file + examined.verdict.input.slice(shelf.nameOf(file).length);
      ledgers.get(file)?.take(examined.value, place);
      inspection.take(file, place, examined);
      const judged = sum.add(withoutOpenQuestions(examined));
      inspection.judged(file, judged);
      yield [judged];
    }
  }
  for (const document of beside) yield [sum.add(document)];
  if (sum.isEmpty && inspection.journals.size === 0 && findings.length === 0) {
    yield [refused(shelf.input, 'unknown_format', 'No file in this folder is a document of a known format.')];
    return;
  }
  inspection.end();
  for (const ledger of ledgers.values()) ledger.end();
  const { violations, advice, omitted } = found.findings();
  const notChecked = [...inspection.notChecked(), ...(lacksLedger(shelf, ledgers) ? [NO_LEDGER] : [])];
  const { signatures } = inspection.signing;
  const notes = [...inspection.notes, ...inspection.signing.notes];
  const verdict = { ...sum.verdict(violations, advice, notChecked), signatures, notes };
  yield [omitted > 0 ? { ...verdict, omitted } : verdict];
}

type Ledgers = ReadonlyMap<string, LedgerRuns>;

/** The ledgers in a folder. A pack has no ledger, only a single ledger line. */
async function ledgersOf({ folder, tree, isForeign }: FileSource, report: ReportFinding): Promise<Ledgers> {
  if (folder === undefined) return new Map();
  const { ledgerAround, ledgersIn } = await import('./ledger.ts');
  const files = tree.paths.filter(file => isLedger(file) && !isForeign(file));
  const ledgers = ledgersIn(folder, files, report);
  ledgerAround(folder, report);
  return ledgers;
}

/** Whether the folder is a Proctor home without a ledger. */
function lacksLedger({ folder }: FileSource, ledgers: Ledgers): boolean {
  return folder !== undefined && path.basename(path.resolve(folder)) === '.proctor' && ledgers.size === 0;
}

const NO_LEDGER = 'whether runs were removed: there is no ledger';

const SEALS: ReadonlySet<string> = new Set(['seal', 'judgement-seal', 'expiry']);

/** Clears what a seal alone leaves unchecked, because the folder rules check it. */
function withoutOpenQuestions(examined: Examined): Examined {
  const isSeal = SEALS.has(examined.contract?.name ?? '');
  return isSeal ? { ...examined, verdict: { ...examined.verdict, not_checked: [] } } : examined;
}
