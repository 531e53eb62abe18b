import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../../base/canonical.ts';
import { type Fault, orWriteFault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { makeFolders } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import { replaceFile, replaceLasting, UNFINISHED } from '../../base/replace.ts';
import { type CaseArtifact, caseArtifact } from '../../contracts/artifacts/index.ts';
import { finish, type Sealing } from '../run-folder/finish.ts';
import type { Journal } from '../run-folder/journal.ts';
import { mergeSorted, StoredCases, type StoredFiles, storedFiles } from '../run-folder/sealed-files.ts';
import type { TwiceCase } from '../../contracts/made-twice/index.ts';
import type { KeptTwice } from './made-twice.ts';
import { type SuiteRun, suiteDocuments } from './suite-documents.ts';
import { LineLog } from './line-log.ts';
import { OUTCOME_LOG } from './outcome-log.ts';
import { REPLIES } from './reply-log.ts';
import type { AssetNote, Attempt, SuiteLine, SuitePlan } from './suite-run.ts';

/** A file of a case, before it is stored. */
export interface Asset {
  readonly href: string;
  readonly kind: AssetNote['kind'];
  readonly caseId: string | null;
  readonly bytes: Uint8Array | string;
}

/** Writes files to the folder in another thread. */
export interface FileWriter {
  /** Returns false if it does not accept the files. */
  take(files: readonly { readonly name: string; readonly text: string; readonly bytes: number }[]): boolean;
  /** Resolves when all files are written. */
  close(): Promise<void>;
}

/**
 * The folder of a suite run while it is alive. A case is finished once its line is in the journal: its file can be
 * restored from there.
 */
export class SuiteStore {
  readonly folder: string;
  readonly #journal: Journal<SuiteLine>;
  readonly #cases = new StoredCases();
  readonly #assets: AssetNote[] = [];
  readonly #replies: LineLog;
  readonly #outcomes: LineLog;
  readonly #twice = new Map<string, TwiceCase>();
  #ok = 0;
  #failed = 0;
  /** Cases in the journal whose files are not written yet. */
  #unwritten: { readonly id: string; readonly text: string; readonly sha256: string }[] = [];
  #writing: NodeJS.Timeout | undefined;
  #failure: Fault | undefined;
  readonly #openWriter: (folder: string) => FileWriter;
  #writer: FileWriter | undefined;
  #written = 0;

  constructor(folder: string, journal: Journal<SuiteLine>, openWriter: (folder: string) => FileWriter) {
    this.folder = folder;
    this.#journal = journal;
    this.#openWriter = openWriter;
    this.#replies = new LineLog(folder, REPLIES);
    this.#outcomes = new LineLog(folder, OUTCOME_LOG);
    journal.beforeFlush = () => {
      this.#replies.flush();
      this.#outcomes.flush();
    };
  }

  plan(plan: SuitePlan, assets: readonly AssetNote[]): void {
    this.#journal.append({ is: 'planned', plan, assets });
    this.#assets.push(...assets);
    for (const folder of ['evidence', 'evidence/steps', 'evidence/steps/suite']) {
      makeFolders(path.join(this.folder, folder));
    }
  }

  /** Starts or resumes the run. */
  begin(owner: SuitePlan['owner'], atMs: number, assets: readonly AssetNote[]): void {
    this.#journal.append({ is: 'begun', owner, atMs });
    this.#assets.push(...assets);
    for (const entry of readdirSync(this.folder)) {
      if (entry.endsWith(UNFINISHED)) rmSync(path.join(this.folder, entry), { force: true });
    }
  }

  /** Records an attempt. Send the request only when this resolves, or a crash could make Proctor send it twice. */
  sent(id: string, attempt: number, atMs: number, key: string): Promise<void> {
    return this.#journal.appendSoon({ is: 'sent', id, attempt, atMs, key });
  }

  /** Records an attempt that a queue delivers at most once, so a crash does not end it. */
  offered(id: string, attempt: number, atMs: number, key: string): Promise<void> {
    return this.#journal.appendSoon({ is: 'sent', id, attempt, atMs, key, pending: true });
  }

  /** Records the run that answers an attempt, so that viewers can follow it. */
  running(id: string, attempt: number, runId: string): void {
    this.#journal.append({ is: 'running', id, attempt, runId });
  }

  /** Records a failed attempt that will be retried. `outcome` is a line for the log of outcomes. */
  failed(id: string, attempt: Attempt, assets: readonly Asset[], outcome?: string): void {
    if (outcome !== undefined) this.#outcomes.hold(outcome);
    const notes = assets.map(asset => this.#store(asset));
    this.#journal.append({ is: 'failed', id, attempt, assets: notes });
  }

  /** Records a finished case, and returns the text of its file. `reply` and `outcome` are lines for their logs. */
  keep(artifact: CaseArtifact, assets: readonly Asset[], reply?: string, outcome?: string, twice?: KeptTwice): string {
    if (this.#failure) throw this.#failure;
    if (reply !== undefined) this.#replies.hold(reply);
    for (const line of [outcome, twice?.outcome]) if (line !== undefined) this.#outcomes.hold(line);
    const text = canonicalize(artifact);
    // The text consists of many pieces, and hashing joins them. So hash it before it becomes part of a line.
    const sha256 = bytesHash(text);
    const notes = [...assets, ...(twice?.assets ?? [])].map(asset => this.#store(asset));
    const id = artifact.case_id;
    if (twice) this.#twice.set(id, twice.note);
    const second = twice ? `,"twice":${JSON.stringify(twice.note)}` : '';
    // The line for the next request follows immediately, and flushes this one too.
    this.#journal.hold(
      `{"is":"case","id":${JSON.stringify(id)},"assets":${JSON.stringify(notes)},"artifact":${text}${second}}`,
    );
    this.#count(artifact);
    this.#unwritten.push({ id, text, sha256 });
    if (this.#unwritten.length >= UNWRITTEN_MAX || text.length > LARGE_UNITS) this.#writeFiles();
    else this.#writing ??= setTimeout(() => this.#tryToWriteFiles(), UNWRITTEN_MS);
    return text;
  }

  /** Writes files in batches, which takes a third of the time, because the CPU caches stay warm. */
  #writeFiles(): void {
    clearTimeout(this.#writing);
    this.#writing = undefined;
    if (this.#failure) throw this.#failure;
    this.#journal.flush();
    const files = this.#unwritten.map(({ id, text, sha256 }) => {
      const bytes = Buffer.byteLength(text);
      this.#cases.add(id, sha256, bytes);
      return { name: `${id}.json`, text, bytes };
    });
    this.#unwritten = [];
    this.#written += files.length;
    // Starting a thread takes as long as writing a hundred files.
    if (this.#written > ALONE_MAX) this.#writer ??= this.#openWriter(this.folder);
    if (this.#writer?.take(files)) return;
    for (const { name, text, bytes } of files) written(() => replaceFile(`${this.folder}/${name}`, text, bytes));
  }

  /** Runs on a timer, so it stores a failure for the next call to throw. */
  #tryToWriteFiles(): void {
    try {
      this.#writeFiles();
    } catch (error) {
      this.#failure = error as Fault;
    }
  }

  /** Stores files that belong to no case. */
  add(assets: readonly Asset[]): void {
    for (const asset of assets) this.#store(asset);
  }

  /** Restores a finished case from the journal. */
  recall(artifact: CaseArtifact, twice?: TwiceCase): void {
    if (twice) this.#twice.set(artifact.case_id, twice);
    const text = canonicalize(artifact);
    const file = `${artifact.case_id}.json`;
    const sha256 = bytesHash(text);
    const there = readRegular(path.join(this.folder, file), caseArtifact.bytesMax);
    const bytes = Buffer.byteLength(text);
    if (!there || bytesHash(there) !== sha256) written(() => replaceFile(path.join(this.folder, file), text, bytes));
    this.#count(artifact);
    this.#cases.add(artifact.case_id, sha256, bytes);
  }

  get stats(): { readonly ok: number; readonly failed: number } {
    return { ok: this.#ok, failed: this.#failed };
  }

  /** Writes the documents and seals the folder, once the case files are on disk. */
  async finish(
    run: Omit<SuiteRun, 'assets' | 'stats' | 'twice'>,
    sealing: Sealing,
    sync: (folder: string) => Promise<void>,
  ): Promise<void> {
    this.#writeFiles();
    await this.#writer?.close();
    for (const log of [this.#replies, this.#outcomes]) log.close();
    const stats = { total: run.ids.length, ok: this.#ok, failed: this.#failed };
    const logs = [...this.#replies.notes(), ...this.#outcomes.notes()];
    const assets = [...this.#assets, ...logs].sort((a, b) => (a.href < b.href ? -1 : 1));
    await finish(this.folder, {
      runId: run.plan.request.run_id,
      kind: 'suite',
      version: run.plan.request.version,
      documents: suiteDocuments({ ...run, assets, stats, twice: this.#twice }),
      stored: withAssets(this.#cases, assets),
      passing: [],
      sealedAtMs: run.completedAtMs,
      synced: sync(this.folder),
      ...sealing,
    });
    this.#journal.remove();
  }

  /** Releases the folder, so that the run can be resumed. `left` are files of this session. */
  async close(left: readonly Asset[] = []): Promise<void> {
    clearTimeout(this.#writing);
    try {
      // The writer must have stopped before another process resumes the run.
      await this.#writer?.close();
    } catch {
      // Missing files can be restored from the journal.
    }
    try {
      const assets = left.map(asset => this.#store({ ...asset, href: this.#sessionHref(asset.href) }));
      this.#journal.append({ is: 'left', ...(assets.length > 0 && { assets }) });
    } catch {
      // If nothing can be written, the end of this process releases the run.
    }
    this.#journal.close();
    for (const log of [this.#replies, this.#outcomes]) log.close();
  }

  /** `assets/target.1.log` for the `assets/target.log` of the first session that was interrupted. */
  #sessionHref(href: string): string {
    const taken = new Set(this.#assets.map(asset => asset.href));
    const { dir, name, ext } = path.posix.parse(href);
    for (let number = 1; ; number++) {
      const free = `${dir}/${name}.${number}${ext}`;
      if (!taken.has(free)) return free;
    }
  }

  #count({ status }: CaseArtifact): void {
    if (status === 'ok') this.#ok++;
    else this.#failed++;
  }

  /** Assets are not in the journal, so they must be on disk before a line refers to them. */
  #store({ href, kind, caseId, bytes }: Asset): AssetNote {
    written(() => replaceLasting(path.join(this.folder, href), bytes));
    const note = { href, kind, caseId, bytes: Buffer.byteLength(bytes), sha256: bytesHash(bytes) };
    this.#assets.push(note);
    return note;
  }
}

function withAssets(cases: StoredFiles, assets: readonly AssetNote[]): StoredFiles {
  const others = storedFiles(assets.map(({ href, sha256, bytes }) => ({ path: href, sha256, bytes })));
  return {
    has: path => cases.has(path) || others.has(path),
    sorted: () => mergeSorted(cases.sorted(), others.sorted()),
  };
}

/** How many files may wait, and how long. */
const UNWRITTEN_MAX = 64;
const UNWRITTEN_MS = 20;

/** A larger file does not wait. */
const LARGE_UNITS = 64 * 1024;

/** After this many files, a run starts a writer thread. */
const ALONE_MAX = 512;

function written(act: () => void): void {
  orWriteFault('write_failed', 'The evidence of a case', act);
}
