import { closeSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { readJson } from '../base/json.ts';
import { linesOf } from '../base/lines.ts';
import { openRegular } from '../base/regular.ts';
import { type LedgerLine, ledgerLine } from '../contracts/ledger/index.ts';
import { type LedgerEntry, LEDGER } from '../evidence/ledger/ledger.ts';
import { homeAround, isLineOf } from '../evidence/recovery/ledger-line.ts';
import { hasJournal } from '../evidence/recovery/recover.ts';
import { runsIn } from '../evidence/run-folder/runs.ts';
import { sealedEntry } from '../evidence/recovery/sealed-entry.ts';
import { LD } from './ledger-rules.ts';
import type { ReportFinding } from './inspector.ts';

/**
 * LD8 and LD9: compares a ledger with the sealed run folders next to it. The runs are listed before the ledger is
 * read, so every listed run already has its line, however many other runs finish meanwhile.
 */
export class LedgerRuns {
  readonly #runs = new Map<string, RunBeside[]>();
  /** Run folders that have a line. */
  readonly #met = new Set<string>();
  readonly #report: ReportFinding;
  /** The ledger's folder as a prefix in findings, with a trailing slash. */
  readonly #below: string;
  #firstAtMs: number | undefined;

  constructor(home: string, below: string, report: ReportFinding) {
    this.#report = report;
    this.#below = below;
    for (const { id, folder } of runsIn(home)) {
      const isOpen = hasJournal(folder);
      const entry = sealedEntry(folder);
      if (!entry) continue;
      const at = path.relative(home, folder).replaceAll(path.sep, '/');
      this.#runs.set(entry.run_id, [...(this.#runs.get(entry.run_id) ?? []), { at, entry, isOpen }]);
      if (id !== entry.run_id) report({ rule: LD.LD8.id, level: 'must', file: below + at, message: MISPLACED });
    }
  }

  /** A line in the ledger. The line may itself violate rules. */
  take(value: unknown, place: string): void {
    const line = (value ?? {}) as Partial<LedgerLine>;
    const atMs = Date.parse(String(line.sealed_at));
    if (!Number.isNaN(atMs)) this.#firstAtMs ??= atMs;
    const id = String(line.run_id);
    for (const { at, entry } of this.#runs.get(id) ?? []) {
      if (!isLineOf(line, entry)) continue;
      this.#met.add(at);
      for (const key of differences(line, entry)) {
        const message = `does not match ${at}: the line was changed, or the run was sealed again`;
        this.#report({ rule: LD.LD8.id, level: 'must', file: place, at: key, message });
      }
    }
  }

  end(): void {
    for (const places of this.#runs.values()) {
      for (const { at, entry, isOpen } of places) {
        if (isOpen || this.#met.has(at)) continue;
        const isOlder = Date.parse(entry.sealed_at) < (this.#firstAtMs ?? Number.POSITIVE_INFINITY);
        const [level, message] = isOlder ? (['should', OLDER] as const) : (['must', UNWRITTEN] as const);
        this.#report({ rule: LD.LD9.id, level, file: `${this.#below}${at}`, message });
      }
    }
  }
}

/** A sealed run folder next to a ledger. */
interface RunBeside {
  readonly at: string;
  readonly entry: LedgerEntry;
  /** The journal still exists, so the line may not be written yet. */
  readonly isOpen: boolean;
}

const MISPLACED = 'contains a different run than its name says';

const UNWRITTEN =
  'is sealed but has no line in the ledger: the line was removed or never written, or the run was sealed elsewhere';

const OLDER = 'is older than the first line of the ledger and has no line';

/** The keys in which a line differs from its run. */
function differences(line: Partial<LedgerLine>, entry: LedgerEntry): (keyof LedgerEntry)[] {
  const keys = ['seal_sha256', 'kind', 'sealed_at', 'intent'] as const;
  return keys.filter(key => canonicalize(line[key] ?? null) !== canonicalize(entry[key]));
}

/** A folder's ledgers by path, each with the runs next to it. */
export function ledgersIn(
  folder: string,
  files: readonly string[],
  report: ReportFinding,
): ReadonlyMap<string, LedgerRuns> {
  const ledgers = files.map(file => {
    const below = file.slice(0, -LEDGER.length);
    return [file, new LedgerRuns(path.join(folder, below), below, report)] as const;
  });
  return new Map(ledgers);
}

const FOREIGN = 'belongs to a different run than the folder name says';

/** LD8 for a single run folder: compares it with its line in its home's ledger. */
export function ledgerAround(folder: string, report: ReportFinding): void {
  const home = homeAround(folder);
  const fd = home === undefined ? undefined : openRegular(path.join(home, LEDGER));
  if (fd === undefined) return;
  try {
    const entry = sealedEntry(folder);
    if (!entry) return;
    if (path.basename(realpathSync(folder)) !== entry.run_id) {
      report({ rule: LD.LD8.id, level: 'must', file: 'evidence/seal.json', message: FOREIGN });
    }
    const name = `"run_id":"${entry.run_id}"`;
    for (const { number, bytes } of linesOf(fd, ledgerLine.bytesMax)) {
      if (!bytes?.includes(name)) continue;
      const reading = readJson(bytes, { bytesMax: ledgerLine.bytesMax });
      const line = (reading.ok ? reading.value : {}) as Partial<LedgerLine>;
      if (!isLineOf(line, entry)) continue;
      for (const key of differences(line, entry)) {
        const message = `does not match line ${number} of the ledger: ${key} differs`;
        report({ rule: LD.LD8.id, level: 'must', file: 'evidence/seal.json', message });
      }
    }
  } finally {
    closeSync(fd);
  }
}
