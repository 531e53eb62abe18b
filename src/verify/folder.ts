import path from 'node:path';
import { contentHash } from '../base/hash.ts';
import { readJson } from '../base/json.ts';
import { MIB } from '../contracts/contract.ts';
import { isStartedHere } from '../evidence/journal.ts';
import { caseInspector } from './cases.ts';
import { isLedger } from './chain.ts';
import { claimInspector } from './claims.ts';
import { BYTES_MAX, capOf, type Examined, examine, profileIn } from './examine.ts';
import type { Options } from './options.ts';
import { notRead, recordsOf } from './file.ts';
import { agentCaseInspector } from './agent-cases.ts';
import { agentInspector } from './agents.ts';
import { agreementInspector } from './agreement.ts';
import { environmentInspector } from './environments.ts';
import { evaluationInspector } from './evaluation.ts';
import { failureInspector } from './failures.ts';
import { FD } from './folder-rules.ts';
import { journalsIn } from './foreign.ts';
import { hostPathInspector } from './host-paths.ts';
import { intentInspector } from './intents.ts';
import { judgementInspector } from './judgements.ts';
import { findingsOf, type FolderFinding, type Inspector, type Surroundings } from './inspector.ts';
import { formatOf } from './recognise.ts';
import { sealInspector } from './seal.ts';
import { folderShelf, type Shelf } from './shelf.ts';
import { signatureInspector, trustOf } from './signatures.ts';
import type { Source } from './source.ts';
import { Sum } from './sum.ts';
import { refused, type Verdict } from './verdict.ts';

/** Every document in a folder, then the folder itself: what its documents say of each other and of the files in it. */
export async function* verifyFolder(folder: string, options: Options): AsyncGenerator<readonly Verdict[]> {
  const shelf = folderShelf(folder);
  if (shelf.ok) yield* verifyShelf(shelf, options);
  else yield [notRead(folder, shelf)];
}

/** What is asked of the folder of a run beyond what every folder is asked. */
export interface Beyond {
  readonly inspect: (surroundings: Surroundings) => readonly Inspector[];
  /** Documents that lie beside the folder. */
  readonly beside?: readonly Examined[];
  /** What was found already. */
  readonly findings?: readonly FolderFinding[];
}

/** The same, wherever the files lie. */
export async function* verifyShelf(
  shelf: Shelf,
  options: Options,
  beyond?: Beyond,
): AsyncGenerator<readonly Verdict[]> {
  const { tree, isForeign, folder } = shelf;
  const { found, report } = findingsOf();
  for (const finding of beyond?.findings ?? []) report(finding);
  for (const { path: file, what } of tree.odd) report({ rule: FD.FD1.id, level: 'must', file, message: what });
  const troubled = new Set<string>();
  const journals = journalsIn(tree, isForeign);
  const surroundings: Surroundings = {
    tree,
    hashOf: once(shelf.hash),
    documentHashOf: once(file => documentHash(shelf.read(file, BYTES_MAX))),
    troubled,
    isForeign,
    journals,
    isStartedHere: file => folder !== undefined && isStartedHere(path.dirname(path.join(folder, file))),
    report,
  };
  const profileOf = once(folder => profileIn(shelf.read(path.posix.join(folder, 'policy.json'), MIB)));
  const claims = claimInspector(surroundings);
  const seals = sealInspector(surroundings, claims.disputed);
  const trust = trustOf(options);
  const signing = signatureInspector(surroundings, trust);
  const inspectors: readonly Inspector[] = [
    claims,
    seals,
    signing,
    caseInspector(surroundings),
    failureInspector(surroundings),
    environmentInspector(surroundings),
    agreementInspector(surroundings),
    evaluationInspector(surroundings),
    judgementInspector(surroundings, { isRequired: trust?.isRequired === true }),
    intentInspector(surroundings),
    agentInspector(surroundings),
    agentCaseInspector(surroundings),
    hostPathInspector(report),
    ...(beyond?.inspect(surroundings) ?? []),
  ];
  const { ledgerAround, ledgersIn } = await import('./ledger.ts');
  // A pack holds one line of a ledger, and no ledger.
  const ledgerFiles = tree.paths.filter(file => folder !== undefined && isLedger(file) && !isForeign(file));
  const ledgers = ledgersIn(folder ?? '', ledgerFiles, report);
  if (folder !== undefined) ledgerAround(folder, report);
  const sum = new Sum(shelf.input);
  const strangers = new Set<string>();
  const known = new Set(journals);
  for (const file of tree.files.keys()) {
    if (isForeign(file) || journals.has(file)) continue;
    for (const document of documentsIn(shelf, file, options, profileOf)) {
      const examined = document instanceof Promise ? await document : document;
      if (isStranger(file, examined.verdict, options)) {
        strangers.add(file);
        continue;
      }
      known.add(file);
      const { contract, value, verdict } = examined;
      const place = file + verdict.input.slice(shelf.nameOf(file).length);
      ledgers.get(file)?.take(value, place);
      // Only what has kept its own contract is worth comparing with the rest.
      if (contract && verdict.outcome === 'valid' && typeof value === 'object' && value !== null) {
        const environmentHash = verdict.environment_hash;
        for (const inspector of inspectors) inspector.take({ file, place, contract, value, environmentHash });
      }
      // What a seal leaves open that is alone, its folder answers.
      const judged = sum.add(isSeal(contract?.name) ? { ...examined, verdict: answered(verdict) } : examined);
      if (judged.outcome !== 'valid') troubled.add(file);
      yield [judged];
    }
  }
  for (const document of beyond?.beside ?? []) yield [sum.add(document)];
  if (sum.isEmpty && journals.size === 0 && (beyond?.findings ?? []).length === 0) {
    yield [refused(shelf.input, 'unknown_format', 'No file in this folder is a document of a known format.')];
    return;
  }
  for (const inspector of [...inspectors, ...ledgers.values()]) inspector.end?.();
  const { violations, advice, omitted } = found.findings();
  const others = [...tree.files.keys()].filter(
    file => !known.has(file) && !claims.claimed.has(file) && !seals.sealed.has(file) && !signing.listed.has(file),
  );
  const notChecked = [
    ...leftOut(others, strangers, claims.outside + seals.outside),
    ...seals.notChecked,
    ...(folder !== undefined && isHome(folder) && ledgers.size === 0
      ? ['whether runs were taken away: there is no ledger']
      : []),
  ];
  const { signatures, notes } = signing;
  const verdict = { ...sum.verdict(violations, advice, notChecked), signatures, notes };
  yield [omitted > 0 ? { ...verdict, omitted } : verdict];
}

/** What a seal leaves open that is alone. */
function isSeal(name: string | undefined): boolean {
  return name === 'seal' || name === 'judgement-seal';
}

function answered(verdict: Verdict): Verdict {
  return { ...verdict, not_checked: [] };
}

/** The documents that a file holds: one, one per line, or none. */
function* documentsIn(
  shelf: Shelf,
  file: string,
  options: Options,
  profileOf: (folder: string) => unknown,
): Generator<Examined | Promise<Examined>> {
  const within = shelf.input;
  const full = shelf.nameOf(file);
  const extension = path.extname(file).toLowerCase();
  if (extension === '.ndjson' || extension === '.jsonl') {
    const opened = shelf.open(file);
    if (!opened.ok) {
      yield { verdict: notRead(full, opened, within) };
      return;
    }
    const { fd, size, span } = opened;
    try {
      if (size === 0 && !TRANSCRIPT.test(file))
        yield { verdict: refused(full, 'empty', 'It holds no record.', within) };
      const failure =
        (yield* recordsOf(fd, full, options, options.bytesMax ?? BYTES_MAX, within, span)) ?? opened.changed();
      if (failure) yield { verdict: notRead(full, failure, within) };
    } finally {
      opened.close();
    }
  } else if (extension === '.json') {
    const fileName = path.basename(file);
    const profile = (): unknown => profileOf(path.posix.dirname(file));
    const judged = (cap: number): Examined | Promise<Examined> => {
      const source = shelf.read(file, cap);
      const origin = { input: full, fileName, profile, within, ofRun: OF_RUN.test(file) };
      return source.ok ? examine(source.bytes, origin, options) : { verdict: notRead(full, source, within) };
    };
    // A name that alone says the format says how much may be read, too; a promise per case would cost more than judging it.
    yield formatOf(fileName) === undefined
      ? judged(options.bytesMax ?? BYTES_MAX)
      : capOf(options, fileName).then(judged);
  }
}

/** Where a run has its record. */
const OF_RUN = /(?:^|\/)evidence\/runner\.json$/;

/** An agent that said nothing has a transcript all the same, and an empty one is a file. */
const TRANSCRIPT = /(?:^|\/)steps\/[^/]+\/transcript\.ndjson$/;

/** The folder of everything that Proctor keeps. */
function isHome(folder: string): boolean {
  return path.basename(path.resolve(folder)) === '.proctor';
}

/** The same answer for the same question, however often it is asked. */
function once<Answer>(ask: (file: string) => Answer): (file: string) => Answer {
  const answers = new Map<string, Answer>();
  return file => {
    if (!answers.has(file)) answers.set(file, ask(file));
    return answers.get(file) as Answer;
  };
}

function documentHash(source: Source): string | undefined {
  const reading = source.ok ? readJson(source.bytes, { bytesMax: BYTES_MAX }) : undefined;
  return reading?.ok ? contentHash(reading.value) : undefined;
}

/**
 * A file that is no document of ours: of a format that is not known, which strict does not let pass, or of any form at
 * all among the bodies that were saved as they came.
 */
function isStranger(file: string, { outcome, reason }: Verdict, { strict }: Options): boolean {
  if (outcome !== 'refused') return false;
  return /(?:^|\/)assets\/(?!manifest\.json$)/.test(file) || (!strict && reason?.code === 'unknown_format');
}

/** What the verdict on the folder says nothing about. */
function leftOut(files: readonly string[], strangers: ReadonlySet<string>, outside: number): string[] {
  return [
    ...listed(
      'of no known format',
      files.filter(file => strangers.has(file)),
    ),
    ...listed(
      'that no document names',
      files.filter(file => !strangers.has(file)),
    ),
    ...(outside > 0 ? [`${outside} references to files outside this folder`] : []),
  ];
}

/** "2 files that no document names: a.txt, b.bin", if there are any. */
function listed(what: string, files: readonly string[]): string[] {
  if (files.length === 0) return [];
  const more = files.length > NAMES_SHOWN ? ` and ${files.length - NAMES_SHOWN} more` : '';
  return [
    `${files.length} file${files.length === 1 ? '' : 's'} ${what}: ${files.slice(0, NAMES_SHOWN).join(', ')}${more}`,
  ];
}

const NAMES_SHOWN = 5;
