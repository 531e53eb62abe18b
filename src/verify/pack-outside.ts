import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { readJson } from '../base/json.ts';
import { pack as contract, type PackDocument } from '../contracts/pack/index.ts';
import type { SealStatement } from '../contracts/seal/index.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { entryBytes, entryHash, type OpenedSeal, type PackFile, sealIn } from '../evidence/pack/pack-file.ts';
import { FOLDER, INTERNAL, LATER, LEDGER_LINE, PACK, packDocument } from '../evidence/pack/pack-layout.ts';
import { type Examined, examine } from './examine.ts';
import type { Options } from './options.ts';
import type { FolderFinding } from './inspector.ts';
import type { UncheckedLedgerIntent, PackableRun } from './pack-inspector.ts';
import { PK } from './pack-rules.ts';

/** What is found in a pack outside the run folder. */
export interface Outside {
  readonly findings: readonly FolderFinding[];
  /** Documents outside the run folder. */
  readonly beside: readonly Examined[];
  /** Whether an entry belongs in the pack. */
  readonly isKnown: (name: string) => boolean;
  /** Undefined if the seal cannot be read. */
  readonly sealed: PackableRun | undefined;
}

/** PK1, PK2, PK9, PK14 and PK15: compares a pack's entries with its seal, its ledger line and pack.json. */
export async function outsideOf(input: string, pack: PackFile, options: Options): Promise<Outside> {
  const findings: FolderFinding[] = [];
  const beside: Examined[] = [];
  const breaks = (rule: keyof typeof PK, file: string, message: string, at?: string): void => {
    findings.push({ rule: PK[rule].id, level: 'must', file, message, ...(at !== undefined && { at }) });
  };
  const judged = async (name: string, bytes: Buffer, as?: string): Promise<Examined> =>
    examine(
      bytes,
      { input: path.join(input, name), fileName: name, within: input },
      as === undefined ? options : { ...options, as },
    );

  const opened = sealIn(pack);
  if (opened === undefined)
    breaks('PK1', FOLDER + SEAL, 'is missing or unreadable, so nothing says which files belong to the pack');
  const isKnown = knownBy(opened?.statement);
  for (const name of pack.entries.keys()) {
    if (!isKnown(name)) breaks('PK2', name, 'is listed neither in the seal nor in pack.json');
  }

  const own = entryBytes(pack, PACK, contract.bytesMax);
  if (own === undefined) breaks('PK1', PACK, 'is missing or too large');
  else {
    const examined = await judged(PACK, own, contract.name);
    beside.push(examined);
    if (examined.verdict.outcome === 'valid' && opened) {
      compareWith(expectedOf(pack, opened), examined.value as PackDocument, own, pack, breaks);
    }
  }

  const line = entryBytes(pack, LEDGER_LINE, LINE_BYTES_MAX);
  if (line === undefined && pack.entries.has(LEDGER_LINE))
    breaks('PK9', LEDGER_LINE, 'exceeds the size limit of a ledger line');
  const told = line && (await judgeLine(line, opened, input, options));
  findings.push(...(told?.findings ?? []));
  beside.push(...(told?.examined ?? []));

  const { run_id: runId, kind } = opened?.statement.predicate ?? {};
  const sealed = runId === undefined || kind === undefined ? undefined : { runId, kind, ledger: told?.intent };
  return { findings, beside, isKnown, sealed };
}

interface ToldLine {
  readonly findings: readonly FolderFinding[];
  readonly examined: readonly Examined[];
  /** The intent part of the line. */
  readonly intent?: UncheckedLedgerIntent | undefined;
}

/** PK9: compares the ledger line with the seal. Its intent part is compared with run.json later. */
export async function judgeLine(
  line: Buffer,
  opened: OpenedSeal | undefined,
  input: string,
  options: Options,
): Promise<ToldLine> {
  const findings: FolderFinding[] = [];
  const breaks = (message: string, at?: string): void => {
    findings.push({ rule: PK.PK9.id, level: 'must', file: LEDGER_LINE, message, ...(at !== undefined && { at }) });
  };
  const bytes = line.subarray(0, -1);
  const reading = readJson(bytes, { bytesMax: LINE_BYTES_MAX });
  if (!reading.ok || line.at(-1) !== LINE_FEED || canonicalize(reading.value) !== reading.text) {
    breaks('is not a single line of canonical JSON');
    return { findings, examined: [] };
  }
  const examined = await examine(bytes, { input: path.join(input, LEDGER_LINE), within: input }, options);
  const isLine = examined.contract?.name === 'ledger-line';
  if (!isLine || examined.verdict.outcome !== 'valid') breaks('is not a valid ledger line');
  const value = (reading.value ?? {}) as Readonly<Record<string, unknown>>;
  if (opened) {
    const { run_id, kind, sealed_at } = opened.statement.predicate;
    const sealed = { run_id, kind, sealed_at, seal_sha256: opened.sha256 };
    for (const [key, wanted] of Object.entries(sealed)) {
      if (value[key] !== wanted) breaks('differs from the seal', key);
    }
  }
  return {
    findings,
    examined: isLine ? [{ ...examined, verdict: { ...examined.verdict, not_checked: [ELSEWHERE] } }] : [],
    intent: (value['intent'] ?? undefined) as UncheckedLedgerIntent | undefined,
  };
}

const ELSEWHERE =
  'the position of the line in its ledger, which is not in the pack: no signature covers sequence and previous_sha256';

/** Without a seal, nothing says which files belong in the folder, so all are accepted. */
function knownBy(statement: SealStatement | undefined): (name: string) => boolean {
  const files = statement && new Set([...statement.subject.map(({ name }) => name), SEAL, ...LATER]);
  return name => {
    if (name.startsWith(FOLDER)) return files?.has(name.slice(FOLDER.length)) ?? true;
    return name === PACK || name === LEDGER_LINE;
  };
}

/** What pack.json must contain for these entries. */
function expectedOf(pack: PackFile, { statement, sha256 }: OpenedSeal): PackDocument {
  const names = new Set(statement.subject.map(({ name }) => name));
  const later = LATER.filter(name => !names.has(name)).map(name => FOLDER + name);
  const unsealed = [...later, LEDGER_LINE].flatMap(name => {
    const entry = pack.entries.get(name);
    return entry ? [{ path: name, sha256: entryHash(pack, entry), size_bytes: entry.size }] : [];
  });
  const withInternal = [...names].some(name => name.startsWith(INTERNAL) && pack.entries.has(FOLDER + name));
  return packDocument(statement, sha256, unsealed, withInternal);
}

type Breaks = (rule: keyof typeof PK, file: string, message: string, at?: string) => void;

/** PK1, PK14 and PK15: compares pack.json with its expected content. */
function compareWith(
  expected: PackDocument,
  said: PackDocument,
  bytes: Buffer,
  { entries }: PackFile,
  breaks: Breaks,
): void {
  const lost = said.unsealed.filter(({ path: name }) => !entries.has(name));
  for (const { path: name } of lost) breaks('PK1', name, `is listed in ${PACK}, but missing`);
  const wrong = (Object.keys(expected) as (keyof PackDocument)[]).filter(
    key => canonicalize(said[key]) !== canonicalize(expected[key]),
  );
  for (const key of wrong) {
    if (key !== 'unsealed' || lost.length === 0) breaks('PK14', PACK, WRONG[key], key);
  }
  if (wrong.length === 0 && canonicalize(expected) !== bytes.toString()) {
    breaks('PK15', PACK, 'is not canonical JSON');
  }
}

const WRONG: Readonly<Record<keyof PackDocument, string>> = {
  schema_version: 'is not pack.v1',
  run_id: 'differs from the seal',
  kind: 'differs from the seal',
  seal_sha256: 'is not the hash of the seal',
  unsealed: 'does not list exactly the entries that no seal covers',
  left_out: 'does not list exactly the sealed files that the pack omits',
};

const LINE_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
