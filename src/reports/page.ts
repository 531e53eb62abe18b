import { bytesHash } from '../base/hash.ts';
import { standingOf } from '../contracts/comparison/index.ts';
import type { Coverage, PageHead, PageIndex, PageRow, PageTrial } from './page-data.ts';
import { DOES_NOT_VERIFY } from './pages/page-kinds.ts';
import type { ReportInput } from './report-input.ts';
import { ANSWERS_MAX, SearchIndex } from './search-index.ts';

/** The contents of a page, read lazily. */
export interface Page {
  readonly head: PageHead;
  /** All cases in display order, most urgent first. */
  readonly rows: () => Iterable<PageRow>;
  /** The cases to show in full: the index of the row, and a function that returns the PageCase as JSON. */
  readonly details: (rows: number) => Iterable<readonly [number, () => string]>;
  /** The PageCase of any row as JSON. */
  readonly caseText: (row: number) => string;
  readonly wanted: number;
  /** The search index. Requested last, when the details have been read. */
  readonly words: (rows: number, bytesMax: number) => PageIndex;
  /** The elements of further trials of the first `full` cases, without those that do not fit. */
  readonly trials?: (full: number, fits: (piece: string) => boolean) => Generator<string, Coverage['trials']>;
  /** The further trials of a row: the name of each, such as `new-2`, and its PageTrialDocument as JSON. */
  readonly trialsOf?: (row: number) => Iterable<readonly [name: string, json: string]>;
}

/** How many unchanged cases are shown in full. */
const CALM_CASES_MAX = 200;
const TITLE_CHARS_MAX = 160;
const WHY_CHARS_MAX = 200;

/** Selects all cases before the first calm one, and some calm ones. Expects calm cases last. */
export function detailsOf<Case>(
  cases: readonly Case[],
  isCalm: (one: Case) => boolean,
  read: (one: Case) => string,
): Pick<Page, 'details' | 'wanted' | 'caseText'> {
  const telling = cases.findIndex(isCalm);
  const wanted = telling === -1 ? cases.length : Math.min(cases.length, telling + CALM_CASES_MAX);
  return {
    wanted,
    caseText: row => read(cases[row] as Case),
    *details(rows) {
      for (let index = 0; index < Math.min(rows, wanted); index++) yield [index, () => read(cases[index] as Case)];
    },
  };
}

/**
 * Builds the search index from each pair that the page reads and the inputs of all cases. In a small suite, the outputs
 * of the other cases follow.
 */
export function searchable(
  { pairs, inputs, further }: Pick<ReportInput, 'pairs' | 'inputs' | 'further'>,
  rowOf: ReadonlyMap<string, number>,
): Pick<ReportInput, 'pairs'> & Pick<Page, 'words'> {
  const index = new SearchIndex();
  return {
    pairs: id => {
      const pair = pairs(id);
      const row = rowOf.get(id);
      if (row === undefined) return pair;
      if (pair.case) index.addInput(row, pair.case.input);
      if (pair.baseline || pair.new) index.addAnswers(row, [pair.new, pair.baseline]);
      return pair;
    },
    words: (rows, bytesMax) => {
      for (const { id, input } of inputs?.() ?? []) {
        const row = rowOf.get(id);
        if (row !== undefined && row < rows) index.addInput(row, input);
      }
      // Reading all answers of a large suite would take longer than the rest of the page.
      for (const [id, row] of rowOf.size <= ANSWERS_MAX ? rowOf : []) {
        if (row >= rows || index.hasAnswers(row)) continue;
        const pair = further?.(id);
        if (!pair) break;
        index.addAnswers(row, [pair.new, pair.baseline]);
      }
      return index.written(bytesMax);
    },
  };
}

/**
 * The verdict as a headline, and the whole sentence if the headline is only a part of it. A reason may name many cases
 * and limits.
 */
export function headlineOf(says: string): Pick<PageHead, 'sentence' | 'details'> {
  const end = says.search(/\. /);
  let sentence = end < 0 ? says : says.slice(0, end + 1);
  if (sentence.length > HEADLINE_CHARS_MAX) {
    const cut = sentence.search(/: |; /);
    if (cut > 0) sentence = `${sentence.slice(0, cut)}.`;
  }
  if (sentence.length > HEADLINE_CHARS_MAX) {
    const words = sentence.slice(0, HEADLINE_CHARS_MAX);
    sentence = `${words.slice(0, Math.max(words.lastIndexOf(' '), HEADLINE_CHARS_MAX / 2)).toWellFormed()} …`;
  }
  return { sentence, details: sentence === says ? null : says };
}

const HEADLINE_CHARS_MAX = 110;

type Headline = Pick<PageHead, 'tone' | 'word' | 'sentence' | 'details'>;

/** The headline of a page about changed runs. The verdict moves to the details: it has its own seal. */
export function doubted(headline: Headline, damage: ReportInput['damage'] = []): Headline {
  if (damage.length === 0) return headline;
  const named = damage.slice(0, DAMAGE_MAX).map(({ runId, trouble }) => `${runId}: ${trouble}.`);
  const more = damage.length > DAMAGE_MAX ? [`${damage.length - DAMAGE_MAX} more runs were changed.`] : [];
  const sealed = `The sealed verdict says: ${headline.word}. ${headline.details ?? headline.sentence}`;
  return {
    tone: 'bad',
    word: DOES_NOT_VERIFY,
    sentence: 'The evidence was changed after it was sealed.',
    details: [...named, ...more, sealed].join(' '),
  };
}

const DAMAGE_MAX = 5;

/** Stable: cases of equal rank keep the order of the suite. */
export function sortedBy<Case>(cases: readonly Case[], rank: (one: Case) => number): Case[] {
  return cases
    .map(one => ({ one, at: rank(one) }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

/** Words that many rows share. A row stores only the index of its word. */
export class Vocabulary {
  readonly words: readonly string[];
  readonly #places: ReadonlyMap<string, number>;

  constructor(words: Iterable<string>) {
    this.words = [...new Set(words)].sort((a, b) => (a < b ? -1 : 1));
    this.#places = new Map(this.words.map((word, place) => [word, place]));
  }

  placeOf(word: string | null | undefined): number {
    return (word ? this.#places.get(word) : undefined) ?? -1;
  }
}

export const lettersOf = (trials: readonly PageTrial[]): string =>
  trials.map(trial => (standingOf(trial) === 'missing' ? 'n' : trial.verdict[0])).join('');

/** The mean over the trials, rounded for display. */
export const meanLatency = (trials: readonly PageTrial[]): number | null => meanOf(trials, 'latency_ms', 10);
export const meanCost = (trials: readonly PageTrial[]): number | null => meanOf(trials, 'cost_usd', 1e6);

function meanOf(trials: readonly PageTrial[], key: 'latency_ms' | 'cost_usd', fraction: number): number | null {
  let sum = 0;
  let count = 0;
  for (const { [key]: value } of trials) {
    if (value === null || value === undefined) continue;
    sum += value;
    count++;
  }
  return count === 0 ? null : Math.round((sum / count) * fraction) / fraction;
}

export const titleText = (text: string | null | undefined): string | 0 => clipped(text, TITLE_CHARS_MAX);
export const whyText = (text: string | null | undefined): string | 0 => clipped(text, WHY_CHARS_MAX);

function clipped(text: string | null | undefined, charsMax: number): string | 0 {
  if (!text) return 0;
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`;
}

/** The nonce for styles. The agent cannot guess it before it answers, and the same page always has the same nonce. */
export const styleMark = (...parts: readonly string[]): string =>
  bytesHash(parts.join('\n')).slice('sha256:'.length, 'sha256:'.length + 32);
