import { redact } from '../../base/redact.ts';
import type { WorkspaceStatus } from '../../contracts/workspace/index.ts';
import { type DiffVisitor, diffSummary } from '../../evidence/agent/diff-summary.ts';
import { shownNames } from '../../evidence/agent/shown-names.ts';
import type { AgentDiff, DiffHunk } from './agent-page-data.ts';

interface DiffInput {
  readonly folder: string;
  /** The diff's file in the run folder; undefined if the run has none. */
  readonly file: string | undefined;
  readonly workspace: WorkspaceStatus | undefined;
  /** Why the text must not be shown, such as a declared secret in it. */
  readonly withheld: string | null;
  /** How much text to show; 2 MiB by default. */
  readonly bytesMax?: number;
}

/** The changes of an agent for its page: names as in the masked status, and text without well-known credentials. */
export function agentDiff({ folder, file, workspace, withheld, bytesMax = PAGE_BYTES_MAX }: DiffInput): AgentDiff {
  const hunks = new Hunks(bytesMax);
  const visitor = withheld === null ? hunks : undefined;
  const summary = file === undefined ? undefined : diffSummary(folder, file, FILES_MAX, visitor);
  hunks.close();
  const { commits } = workspace ?? {};
  const history = {
    commits: (commits?.listed ?? []).slice(0, COMMITS_MAX),
    commitsTotal: commits ? (commits.total ?? commits.listed.length) : null,
  };
  if (!summary) {
    const absent = 'The run has no diff, so its changes are unknown.';
    return { absent, files: [], total: 0, added: 0, removed: 0, cut: null, masked: 0, ...history };
  }
  const shown = shownNames(workspace);
  const isPartial = summary.total > summary.files.length || hunks.linesCut > 0 || Boolean(workspace?.diff.cut);
  return {
    absent: withheld,
    files: summary.files.map((one, index) => ({
      ...one,
      path: shown(one.path).slice(0, PATH_UNITS_MAX),
      hunks: hunks.of(index),
      linesCut: hunks.cutIn(index),
    })),
    total: summary.total,
    added: summary.added,
    removed: summary.removed,
    cut: isPartial && withheld === null ? `This page shows a part of the changes. All of them are in ${file}.` : null,
    masked: hunks.masked,
    ...history,
  };
}

const FILES_MAX = 300;
const COMMITS_MAX = 20;
const PATH_UNITS_MAX = 1_000;
const FILE_LINES_MAX = 2_000;
/** A longer line is left out. */
const LINE_BYTES_MAX = 64 * 1024;
const LINE_UNITS_MAX = 1_000;
const FILE_BYTES_MAX = 512 * 1024;
const PAGE_BYTES_MAX = 2 * 1024 * 1024;

/** Collects the hunks of a diff up to limits per line, per file and per page. */
class Hunks implements DiffVisitor {
  readonly #bytesMax: number;
  readonly #files: DiffHunk[][] = [];
  readonly #cuts: number[] = [];
  #open: { readonly file: number; readonly oldFrom: number; readonly newFrom: number; lines: string[] } | undefined;
  #fileLines = 0;
  #fileBytes = 0;
  #file = -1;
  #bytes = 0;
  linesCut = 0;
  masked = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  of = (file: number): readonly DiffHunk[] => this.#files[file] ?? [];
  cutIn = (file: number): number => this.#cuts[file] ?? 0;

  hunk(file: number, oldFrom: number, newFrom: number): void {
    this.close();
    if (file !== this.#file) {
      this.#file = file;
      this.#fileLines = 0;
      this.#fileBytes = 0;
    }
    this.#open = { file, oldFrom, newFrom, lines: [] };
  }

  line(file: number, bytes: Buffer | undefined): void {
    const size = Math.min(bytes?.length ?? 0, LINE_BYTES_MAX);
    const isFull =
      file >= FILES_MAX ||
      this.#fileLines >= FILE_LINES_MAX ||
      this.#fileBytes + size > FILE_BYTES_MAX ||
      this.#bytes + size > this.#bytesMax;
    if (isFull || !this.#open) {
      this.linesCut++;
      this.#cuts[file] = (this.#cuts[file] ?? 0) + 1;
      return;
    }
    this.#fileLines++;
    this.#fileBytes += size;
    this.#bytes += size;
    this.#open.lines.push(textOf(bytes));
  }

  /** Masks the text of a whole hunk, because a private key spans lines. */
  close(): void {
    const open = this.#open;
    this.#open = undefined;
    if (!open || open.lines.length === 0) return;
    const bare = open.lines.map(line => line.slice(1));
    const { text, masked } = redact(bare.join('\n'));
    this.masked += masked;
    const texts = masked === 0 ? bare : maskedLines(bare, text.split('\n'));
    const lines = open.lines.map((line, index) => `${line.slice(0, 1)}${clipped(texts[index] ?? '')}`);
    const { file, oldFrom, newFrom } = open;
    (this.#files[file] ??= []).push({ oldFrom, newFrom, lines });
  }
}

/** The masked text line by line. If a secret spans lines, every line from the first to the last masked one is hidden. */
function maskedLines(bare: readonly string[], masked: readonly string[]): readonly string[] {
  if (masked.length === bare.length) return masked;
  let first = 0;
  while (first < masked.length && masked[first] === bare[first]) first++;
  let last = 1;
  while (last <= masked.length - first && masked.at(-last) === bare.at(-last)) last++;
  return bare.map((line, index) => (index < first || index > bare.length - last ? line : MASKED));
}

const MASKED = '[masked]';

function textOf(bytes: Buffer | undefined): string {
  if (bytes && bytes.length <= LINE_BYTES_MAX) return bytes.toString();
  const sign = bytes?.toString('latin1', 0, 1) ?? ' ';
  return `${sign}[a line of more than 64 KiB, not shown]`;
}

function clipped(text: string): string {
  return text.length <= LINE_UNITS_MAX ? text : `${text.slice(0, LINE_UNITS_MAX).toWellFormed()} …`;
}
