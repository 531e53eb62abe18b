import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { Fault } from '../base/fault.ts';
import { bytesHash } from '../base/hash.ts';
import { makeFolders } from '../base/private.ts';
import { readRegular } from '../base/regular.ts';
import { replaceFile, replaceLasting, UNFINISHED } from '../base/replace.ts';
import { type CaseArtifact, caseArtifact } from '../contracts/artifacts/index.ts';
import { finish, type Sealing } from './finish.ts';
import type { Journal } from './journal.ts';
import { merged, StoredCases, type StoredFiles, storedFiles } from './sealed-files.ts';
import { type SuiteRun, suiteDocuments } from './suite-documents.ts';
import type { AssetNote, Attempt, SuiteLine, SuitePlan } from './suite-run.ts';

/** A file that belongs to a case, before it is stored. */
export interface Asset {
  readonly href: string;
  readonly kind: AssetNote['kind'];
  readonly caseId: string | null;
  readonly bytes: Uint8Array | string;
}

/** Somebody who writes files of the folder beside us. */
export interface FileWriter {
  /** Whether it takes them. */
  take(files: readonly { readonly name: string; readonly text: string; readonly bytes: number }[]): boolean;
  /** Comes back when all are written. */
  close(): Promise<void>;
}

/**
 * The folder of a suite's run while it is alive. A case is finished when its line is in the journal: its file can be
 * written again from there, whatever happens to it.
 */
export class SuiteStore {
  readonly folder: string;
  readonly #journal: Journal<SuiteLine>;
  readonly #cases = new StoredCases();
  readonly #assets: AssetNote[] = [];
  #ok = 0;
  #failed = 0;
  /** Cases that stand in the journal, and whose files are still to be written. */
  #unwritten: { readonly id: string; readonly text: string }[] = [];
  #writing: NodeJS.Timeout | undefined;
  #failure: Fault | undefined;
  readonly #openWriter: (folder: string) => FileWriter;
  #writer: FileWriter | undefined;
  #written = 0;

  constructor(folder: string, journal: Journal<SuiteLine>, openWriter: (folder: string) => FileWriter) {
    this.folder = folder;
    this.#journal = journal;
    this.#openWriter = openWriter;
  }

  /** What is to be done, before anybody begins with it. */
  plan(plan: SuitePlan, assets: readonly AssetNote[]): void {
    this.#journal.append({ is: 'planned', plan, assets });
    this.#assets.push(...assets);
    for (const folder of ['evidence', 'evidence/steps', 'evidence/steps/suite']) {
      makeFolders(path.join(this.folder, folder));
    }
  }

  /** Somebody begins, or goes on with what the journal tells. */
  begin(owner: SuitePlan['owner'], atMs: number, assets: readonly AssetNote[]): void {
    this.#journal.append({ is: 'begun', owner, atMs });
    this.#assets.push(...assets);
    for (const entry of readdirSync(this.folder)) {
      if (entry.endsWith(UNFINISHED)) rmSync(path.join(this.folder, entry), { force: true });
    }
  }

  /** A request goes out. */
  sent(id: string, attempt: number, atMs: number, key: string): void {
    this.#journal.append({ is: 'sent', id, attempt, atMs, key });
  }

  /** An attempt has failed, and another will be made. */
  failed(id: string, attempt: Attempt, assets: readonly Asset[]): void {
    const notes = assets.map(asset => this.#store(asset));
    this.#journal.append({ is: 'failed', id, attempt, assets: notes });
  }

  /** A case is finished. */
  keep(artifact: CaseArtifact, assets: readonly Asset[]): void {
    if (this.#failure) throw this.#failure;
    const text = canonicalize(artifact);
    const notes = assets.map(asset => this.#store(asset));
    const id = artifact.case_id;
    // The next request is noted at once, and this with it.
    this.#journal.hold(`{"is":"case","id":${JSON.stringify(id)},"assets":${JSON.stringify(notes)},"artifact":${text}}`);
    this.#count(artifact);
    this.#unwritten.push({ id, text });
    if (this.#unwritten.length >= UNWRITTEN_MAX || text.length > LARGE_UNITS) this.#writeFiles();
    else this.#writing ??= setTimeout(() => this.#tryToWriteFiles(), UNWRITTEN_MS);
  }

  /** Many in a row take a third of the time that each takes by itself: nothing comes between that the processor must remember. */
  #writeFiles(): void {
    clearTimeout(this.#writing);
    this.#writing = undefined;
    if (this.#failure) throw this.#failure;
    this.#journal.flush();
    const files = this.#unwritten.map(({ id, text }) => ({ name: `${id}.json`, text, bytes: Buffer.byteLength(text) }));
    for (const [index, { id, text }] of this.#unwritten.entries()) {
      this.#cases.add(id, bytesHash(text), files[index]?.bytes ?? 0);
    }
    this.#unwritten = [];
    this.#written += files.length;
    // A thread takes as long to begin as a hundred files to be written.
    if (this.#written > ALONE_MAX) this.#writer ??= this.#openWriter(this.folder);
    if (this.#writer?.take(files)) return;
    for (const { name, text, bytes } of files) told(() => replaceFile(`${this.folder}/${name}`, text, bytes));
  }

  /** Where nobody can be told, whoever comes next is. */
  #tryToWriteFiles(): void {
    try {
      this.#writeFiles();
    } catch (error) {
      this.#failure = error as Fault;
    }
  }

  /** A case that was finished before, as the journal has it. */
  recall(artifact: CaseArtifact): void {
    const text = canonicalize(artifact);
    const file = `${artifact.case_id}.json`;
    const sha256 = bytesHash(text);
    const there = readRegular(path.join(this.folder, file), caseArtifact.bytesMax);
    const bytes = Buffer.byteLength(text);
    if (!there || bytesHash(there) !== sha256) told(() => replaceFile(path.join(this.folder, file), text, bytes));
    this.#count(artifact);
    this.#cases.add(artifact.case_id, sha256, bytes);
  }

  get stats(): { readonly ok: number; readonly failed: number } {
    return { ok: this.#ok, failed: this.#failed };
  }

  /** Writes the documents of the run and seals the folder, when the files of the cases are on the disk. */
  async finish(
    run: Omit<SuiteRun, 'assets' | 'stats'>,
    sealing: Sealing,
    sync: (folder: string) => Promise<void>,
  ): Promise<void> {
    this.#writeFiles();
    await this.#writer?.close();
    const stats = { total: run.ids.length, ok: this.#ok, failed: this.#failed };
    const assets = this.#assets.sort((a, b) => (a.href < b.href ? -1 : 1));
    await finish(this.folder, {
      runId: run.plan.request.run_id,
      kind: 'suite',
      version: run.plan.request.version,
      documents: suiteDocuments({ ...run, assets, stats }),
      stored: withAssets(this.#cases, assets),
      passing: [],
      sealedAtMs: run.completedAtMs,
      synced: sync(this.folder),
      ...sealing,
    });
    this.#journal.remove();
  }

  /** Lets go of the folder; the run can be resumed. */
  async close(): Promise<void> {
    clearTimeout(this.#writing);
    try {
      // Who resumes must not meet somebody who still writes.
      await this.#writer?.close();
    } catch {
      // What has no file can be written again.
    }
    try {
      this.#journal.append({ is: 'left' });
    } catch {
      // Where nothing can be written any more, everybody sees that we are gone when we are.
    }
    this.#journal.close();
  }

  #count({ status }: CaseArtifact): void {
    if (status === 'ok') this.#ok++;
    else this.#failed++;
  }

  /** Assets stand in no journal, so they are on the disk before one names them. */
  #store({ href, kind, caseId, bytes }: Asset): AssetNote {
    told(() => replaceLasting(path.join(this.folder, href), bytes));
    const note = { href, kind, caseId, bytes: Buffer.byteLength(bytes), sha256: bytesHash(bytes) };
    this.#assets.push(note);
    return note;
  }
}

function withAssets(cases: StoredFiles, assets: readonly AssetNote[]): StoredFiles {
  const others = storedFiles(assets.map(({ href, sha256, bytes }) => ({ path: href, sha256, bytes })));
  return {
    has: path => cases.has(path) || others.has(path),
    sorted: () => merged(cases.sorted(), others.sorted()),
  };
}

/** How many files may wait to be written, and how long. */
const UNWRITTEN_MAX = 64;
const UNWRITTEN_MS = 20;

/** And how long one may be that waits. */
const LARGE_UNITS = 64 * 1024;

/** How many files a run writes before it has somebody write them. */
const ALONE_MAX = 512;

function told(act: () => void): void {
  try {
    act();
  } catch (cause) {
    throw new Fault('write_failed', 'The evidence of a case could not be written.', { cause });
  }
}
