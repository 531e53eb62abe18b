import { closeSync, fstatSync } from 'node:fs';
import { Fault } from '../../base/fault.ts';
import { hashInTurns } from '../../base/file-hash.ts';
import { openRegularBelow } from '../../base/regular.ts';
import { StampedCache } from '../../base/stamped-cache.ts';
import { treeStamp } from '../../base/tree-stamp.ts';
import { downloadHeaders, fileStream } from '../../publish/downloads.ts';
import { downloadName } from '../../publish/file-names.ts';
import { mediaTypeOf } from '../../publish/outputs.ts';
import type { RunFile, RunFilesPage } from '../../verbs/evidence/file-view.ts';
import { type Download, outputStates } from '../../verbs/publish/published-downloads.ts';
import type { ReadingThreads } from '../../verbs/reading/reading-threads.ts';
import type { RunPlace } from './run-index.ts';

export interface FileQuery {
  readonly role?: string | undefined;
  readonly q?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** The files of sealed runs. A path from outside is compared with the listed files; it never becomes a path by itself. */
export class FileData {
  readonly #cwd: string;
  readonly #threads: ReadingThreads;
  readonly #lists = new StampedCache<readonly RunFile[]>({
    entriesMax: 100,
    unitsMax: 500_000,
    unitsOf: files => files.length,
    checkAfterMs: 1_000,
  });

  constructor(cwd: string, threads: ReadingThreads) {
    this.#cwd = cwd;
    this.#threads = threads;
  }

  async page(place: RunPlace, { role, q, after, limit }: FileQuery): Promise<RunFilesPage> {
    const all = await this.#files(place);
    const wanted = all.filter(file => (!role || file.role === role) && (!q || file.path.includes(q)));
    const from = 1 + wanted.findIndex(({ path }) => path === after);
    const files = wanted.slice(from, from + limit);
    const isLast = from + files.length >= wanted.length;
    return { files, total: wanted.length, next: isLast ? null : (files.at(-1)?.path ?? null) };
  }

  /** One file as the seal lists it. The bytes are compared with their digest before the first one is sent. */
  async download(place: RunPlace, path: string): Promise<Download> {
    const file = (await this.#files(place)).find(one => one.path === path);
    if (!file || file.state === 'internal' || file.state === 'no_file') throw noFile();
    if (file.state !== 'there') throw REFUSALS[file.state]();
    const fd = openRegularBelow(place.folder, file.path);
    if (fd === undefined) throw REFUSALS.missing();
    try {
      const bytes = fstatSync(fd).size;
      if (file.sha256 !== null && (await hashInTurns(fd)) !== file.sha256) throw REFUSALS.changed();
      const headers = downloadHeaders(downloadName(file.path), mediaTypeOf(file.path), bytes);
      return { headers, stream: fileStream(fd, bytes) };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  async #files({ folder, id }: RunPlace): Promise<readonly RunFile[]> {
    const read = () => this.#threads.read('files', { folder });
    const files = await this.#lists.get(folder, () => treeStamp(folder), read);
    const states = outputStates(this.#cwd, id);
    if (!states) return files;
    return files.map(file => withState(file, states.get(file.path)));
  }
}

function withState(file: RunFile, state: RunFile['state'] | undefined): RunFile {
  return state === undefined || file.state !== 'there' ? file : { ...file, state };
}

function noFile(): Fault {
  return new Fault('no_file', 'The run has no such file, or it is not for download.');
}

const REFUSALS = {
  changed: () => new Fault('not_as_sealed', 'The file is not as it was sealed. Open the evidence of the run.'),
  missing: () => new Fault('file_missing', 'The file is missing. Open the evidence of the run.'),
  expired: () => new Fault('file_expired', 'The file has expired. The seal still has its digest.'),
  not_sealed: () => new Fault('not_as_sealed', 'The file was added after the run was sealed.'),
  withheld: () => new Fault('file_withheld', "The operator's scan withheld the file."),
  being_checked: () => new Fault('file_withheld', "The operator's scan has not checked the file yet."),
} as const;
