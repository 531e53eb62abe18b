import { closeSync } from 'node:fs';
import path from 'node:path';
import { contentHash } from '../base/hash.ts';
import { readJson } from '../base/json.ts';
import { caseInspector } from './cases.ts';
import { isLedger } from './chain.ts';
import { claimInspector } from './claims.ts';
import { BYTES_MAX, capOf, type Examined, examine, type Options, readProfile } from './examine.ts';
import { notRead, recordsOf } from './file.ts';
import { agreementInspector } from './agreement.ts';
import { environmentInspector } from './environments.ts';
import { evaluationInspector } from './evaluation.ts';
import { failureInspector } from './failures.ts';
import { FD } from './folder-rules.ts';
import { foreignIn, journalsIn } from './foreign.ts';
import { hostPathInspector } from './host-paths.ts';
import { intentInspector } from './intents.ts';
import { findingsOf, type Inspector, type Surroundings } from './inspector.ts';
import { formatOf } from './recognise.ts';
import { sealInspector } from './seal.ts';
import { changeOf, hashFile, openRegular, readWhole } from './source.ts';
import { signatureInspector, type Trust } from './signatures.ts';
import { Sum } from './sum.ts';
import { refused, type Verdict } from './verdict.ts';
import { walk } from './walk.ts';

/** Every document in a folder, then the folder itself: what its documents say of each other and of the files in it. */
export async function* verifyFolder(
  folder: string,
  options: Options,
  trust?: Trust,
): AsyncGenerator<readonly Verdict[]> {
  const tree = walk(folder);
  if (!tree.ok) {
    yield [notRead(folder, tree)];
    return;
  }
  const { found, report } = findingsOf();
  for (const { path: file, what } of tree.odd) report({ rule: FD.FD1.id, level: 'must', file, message: what });
  const troubled = new Set<string>();
  const isForeign = foreignIn(folder);
  const journals = journalsIn(tree, isForeign);
  const surroundings: Surroundings = {
    tree,
    hashOf: once(file => hashFile(path.join(folder, file))),
    documentHashOf: once(file => documentHash(path.join(folder, file))),
    troubled,
    isForeign,
    journals,
    report,
  };
  const profileIn = once(readProfile);
  const claims = claimInspector(surroundings);
  const seals = sealInspector(surroundings, claims.disputed);
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
    intentInspector(surroundings),
    hostPathInspector(report),
  ];
  const { ledgerAround, ledgersIn } = await import('./ledger.ts');
  const ledgers = ledgersIn(
    folder,
    tree.paths.filter(file => isLedger(file) && !isForeign(file)),
    report,
  );
  ledgerAround(folder, report);
  const sum = new Sum(folder);
  const strangers = new Set<string>();
  const known = new Set(journals);
  for (const file of tree.files.keys()) {
    if (isForeign(file) || journals.has(file)) continue;
    for (const document of documentsIn(folder, file, options, profileIn)) {
      const examined = document instanceof Promise ? await document : document;
      if (isStranger(file, examined.verdict, options)) {
        strangers.add(file);
        continue;
      }
      known.add(file);
      const { contract, value, verdict } = examined;
      const place = file + verdict.input.slice(path.join(folder, file).length);
      ledgers.get(file)?.take(value, place);
      // Only what has kept its own contract is worth comparing with the rest.
      if (contract && verdict.outcome === 'valid' && typeof value === 'object' && value !== null) {
        const environmentHash = verdict.environment_hash;
        for (const inspector of inspectors) inspector.take({ file, place, contract, value, environmentHash });
      }
      // What a seal leaves open that is alone, its folder answers.
      const judged = sum.add(contract?.name === 'seal' ? { ...examined, verdict: answered(verdict) } : examined);
      if (judged.outcome !== 'valid') troubled.add(file);
      yield [judged];
    }
  }
  if (sum.isEmpty && journals.size === 0) {
    yield [refused(folder, 'unknown_format', 'No file in this folder is a document of a known format.')];
    return;
  }
  for (const inspector of [...inspectors, ...ledgers.values()]) inspector.end?.();
  const { violations, advice, omitted } = found.findings();
  const others = [...tree.files.keys()].filter(
    file => !known.has(file) && !claims.claimed.has(file) && !seals.sealed.has(file),
  );
  const notChecked = [
    ...leftOut(others, strangers, claims.outside + seals.outside),
    ...seals.notChecked,
    ...(isHome(folder) && ledgers.size === 0 ? ['whether runs were taken away: there is no ledger'] : []),
  ];
  const { signatures, notes } = signing;
  const verdict = { ...sum.verdict(violations, advice, notChecked), signatures, notes };
  yield [omitted > 0 ? { ...verdict, omitted } : verdict];
}

function answered(verdict: Verdict): Verdict {
  return { ...verdict, not_checked: [] };
}

/** The documents that a file holds: one, one per line, or none. */
function* documentsIn(
  folder: string,
  file: string,
  options: Options,
  profileIn: (folder: string) => unknown,
): Generator<Examined | Promise<Examined>> {
  const full = path.join(folder, file);
  const extension = path.extname(file).toLowerCase();
  if (extension === '.ndjson' || extension === '.jsonl') {
    const opened = openRegular(full);
    if (!opened.ok) {
      yield { verdict: notRead(full, opened, folder) };
      return;
    }
    try {
      if (opened.stat.size === 0) yield { verdict: refused(full, 'empty', 'It holds no record.', folder) };
      const failure =
        (yield* recordsOf(opened.fd, full, options, options.bytesMax ?? BYTES_MAX, folder)) ??
        changeOf(opened, isLedger(file));
      if (failure) yield { verdict: notRead(full, failure, folder) };
    } finally {
      closeSync(opened.fd);
    }
  } else if (extension === '.json') {
    const fileName = path.basename(file);
    const profile = (): unknown => profileIn(path.dirname(full));
    const judged = (cap: number): Examined | Promise<Examined> => {
      const source = readWhole(full, cap);
      const origin = { input: full, fileName, profile, within: folder };
      return source.ok ? examine(source.bytes, origin, options) : { verdict: notRead(full, source, folder) };
    };
    // A name that alone says the format says how much may be read, too; a promise per case would cost more than judging it.
    yield formatOf(fileName) === undefined
      ? judged(options.bytesMax ?? BYTES_MAX)
      : capOf(options, fileName).then(judged);
  }
}

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

function documentHash(file: string): string | undefined {
  const source = readWhole(file, BYTES_MAX);
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
