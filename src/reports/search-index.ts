import { rowList } from '../base/row-list.ts';
import { eachWord } from '../base/search-words.ts';
import { eventsOf } from '../contracts/artifacts/events.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { PageIndex } from './page-data.ts';

/**
 * The words of inputs, outputs and tools, and the rows of their cases. Built while the page is written, because only
 * then are the cases read.
 */
export class SearchIndex {
  readonly #rows = new Map<string, number[]>();
  readonly #inputs = new Set<number>();
  readonly #answers = new Set<number>();
  #entries = 0;

  addInput(row: number, input: unknown): void {
    if (this.#inputs.has(row) || !this.#hasRoom()) return;
    this.#inputs.add(row);
    this.#add(row, textOf(input));
  }

  hasAnswers(row: number): boolean {
    return this.#answers.has(row);
  }

  /** Adds the outputs and tools of both sides. */
  addAnswers(row: number, answers: readonly (CaseArtifact | undefined)[]): void {
    if (this.#answers.has(row) || this.#answers.size >= ANSWERS_MAX || !this.#hasRoom()) return;
    this.#answers.add(row);
    const [first, ...others] = answers.flatMap(answer => (answer ? answerText(answer) : []));
    if (first !== undefined) this.#add(row, first);
    for (const other of others) if (other !== first) this.#add(row, other);
  }

  /** Rare words first, because they find a case best; the rest until the limit. */
  written(bytesMax: number): PageIndex {
    const entries = [...this.#rows].sort((a, b) => a[1].length - b[1].length);
    const kept: [word: string, rows: string][] = [];
    let bytes = 0;
    for (const [word, rows] of entries) {
      const list = rowList(ascending(rows));
      bytes += Buffer.byteLength(word) + list.length + SEPARATORS_BYTES;
      if (bytes > bytesMax) break;
      kept.push([word, list]);
    }
    kept.sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      words: frontCoded(kept.map(([word]) => word)),
      rows: kept.map(([, rows]) => rows).join(' '),
      inputs: this.#inputs.size,
      answers: this.#answers.size,
      left_out: entries.length - kept.length,
      chars_max: TEXT_CHARS_MAX,
    };
  }

  #add(row: number, text: string): void {
    eachWord(text, word => {
      const rows = this.#rows.get(word);
      if (!rows) this.#rows.set(word, [row]);
      else if (rows[rows.length - 1] !== row) rows.push(row);
      else return;
      this.#entries++;
    });
  }

  #hasRoom(): boolean {
    return this.#entries < ENTRIES_MAX;
  }
}

/** Cases whose outputs and tools are searched. Each costs about a tenth of the time to write it. */
export const ANSWERS_MAX = 1_000;
/** Characters of each text that are searched. */
const TEXT_CHARS_MAX = 4_000;
const DEPTH_MAX = 12;
const TOOLS_MAX = 500;
/** Bounds the memory: about 16 bytes each. */
const ENTRIES_MAX = 4_000_000;
/** Two spaces, and the digit of the shared beginning. */
const SEPARATORS_BYTES = 3;

function answerText({ final_output, events = [], proposed_actions = [] }: CaseArtifact): string {
  const tools = new Set<string>();
  for (const [, { tool }] of eventsOf('tool_call', events.slice(0, TOOLS_MAX))) tools.add(tool);
  for (const { tool_name, action_type } of proposed_actions.slice(0, TOOLS_MAX)) tools.add(tool_name).add(action_type);
  return `${textOf([...tools])} ${textOf(final_output?.content)}`;
}

/** All texts and numbers in a value, up to the limit. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value.slice(0, TEXT_CHARS_MAX);
  const parts: string[] = [];
  let chars = 0;
  const collect = (one: unknown, depth: number): void => {
    if (chars > TEXT_CHARS_MAX || depth > DEPTH_MAX) return;
    if (typeof one === 'string' || typeof one === 'number') {
      const text = String(one).slice(0, TEXT_CHARS_MAX - chars);
      chars += text.length + 1;
      parts.push(text);
    } else if (typeof one === 'object' && one !== null) for (const item of Object.values(one)) collect(item, depth + 1);
  };
  collect(value, 0);
  return parts.join(' ');
}

/** Inputs are added for all rows before outputs, so a list may start again at the first row. */
function ascending(rows: readonly number[]): readonly number[] {
  for (let index = 1; index < rows.length; index++) {
    if ((rows[index] as number) <= (rows[index - 1] as number)) return [...new Set(rows)].sort((a, b) => a - b);
  }
  return rows;
}

/** Sorted words, each as the number of characters that it shares with the previous one, and the rest. */
function frontCoded(words: readonly string[]): string {
  let last = '';
  return words
    .map(word => {
      let shared = 0;
      while (shared < SHARED_MAX && shared < word.length && word[shared] === last[shared]) shared++;
      last = word;
      return `${shared.toString(36)}${word.slice(shared)}`;
    })
    .join(' ');
}

/** One digit in base 36. */
const SHARED_MAX = 35;
