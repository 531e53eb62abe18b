import path from 'node:path';
import { writeAtomic } from '../base/atomic.ts';
import { printable } from '../base/printable.ts';
import { modesIn } from '../base/private.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { findRun, homeFrom, type RunFolder, runsIn, secondOf } from '../evidence/run-folder/runs.ts';
import { embeddedPage, htmlPage } from '../reports/pages/html-page.ts';
import { DOES_NOT_VERIFY, type SmallPage } from '../reports/pages/page-kinds.ts';
import { checkerAt, checkerIfUsable } from './keys.ts';
import { comparisonFolder, makeReportFolder, refuseSealed, type ReportOptions } from './report.ts';

/** Reads the page of a run; undefined for another kind of run. */
export type PageReader = (place: RunFolder, key: Checker | undefined) => Promise<SmallPage | undefined>;

/** The kinds of run that have a page of their own. A new kind needs a line here. */
const READERS: readonly (() => Promise<PageReader>)[] = [
  async () => (await import('./agent-page.ts')).agentPageOf,
  async () => (await import('./step-pages.ts')).intentPageReader,
  async () => (await import('./step-pages.ts')).scriptPageReader,
];

interface RunPage {
  readonly page: SmallPage;
  /** The folder for the page. A run folder is sealed, so it never goes there. */
  readonly folder: string;
}

/** The page of a run by path, id, id prefix, or `latest`; undefined for a comparison or a suite run. */
export async function runPageOf(word: string, cwd: string, options: ReportOptions): Promise<RunPage | undefined> {
  const home = homeFrom(cwd);
  const place = pagePlace(word, home, cwd);
  if (!place) return undefined;
  const { out, key: named, signingKey } = options;
  const given = out === undefined ? undefined : path.resolve(cwd, out);
  if (given !== undefined) refuseSealed(given);
  const key = named === undefined ? checkerIfUsable(cwd, signingKey) : checkerAt(cwd, { key: named });
  const page = await smallPageOf(place, key);
  return page && { page, folder: given ?? path.join(home, 'reports', page.top.id) };
}

/** The data of a run's page as JSON, finished or not; undefined for a suite run. */
export async function pageJsonOf(place: RunFolder, cwd: string): Promise<string | undefined> {
  const page = await smallPageOf(place, checkerIfUsable(cwd));
  return page && JSON.stringify(embeddedPage(page));
}

async function smallPageOf(place: RunFolder, key: Checker | undefined): Promise<SmallPage | undefined> {
  for (const reader of READERS) {
    const page = await (await reader())(place, key);
    if (page) return page;
  }
  return undefined;
}

/** The run that the word names; undefined if it names a comparison or a side. */
function pagePlace(word: string, home: string, cwd: string): RunFolder | undefined {
  const comparison = comparisonFolder(word, home, cwd);
  if (word !== 'latest') return comparison || word === 'baseline' || word === 'new' ? undefined : findRun(home, word);
  const last = runsIn(home).at(-1);
  if (!last || !comparison) return last;
  const compared = { id: path.basename(comparison), lane: 'comparison', folder: comparison };
  // Within the same second, the comparison is newer.
  return secondOf(compared) >= secondOf(last) ? undefined : last;
}

/** Warns that a page shows changed files; undefined if it does not. */
export function pageWarning({ top }: SmallPage): string | undefined {
  if (top.word !== DOES_NOT_VERIFY) return undefined;
  return `${printable(top.id)} does not match its seal. The page shows this first. Run proctor verify for details.`;
}

/** Writes the page completely or not at all, and returns its file. */
export function writePage(folder: string, page: SmallPage): string {
  const file = path.join(folder, 'report.html');
  makeReportFolder(folder);
  writeAtomic(file, htmlPage(page), modesIn(folder).file);
  return file;
}
