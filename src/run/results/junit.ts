import { tagsOf, type XmlTag, XmlFault } from '../../base/xml.ts';
import { rowName, lineAt, type ResultRow, ResultFault } from './row.ts';

/**
 * The test cases of a JUnit file. A case that passed only on a retry counts as failed, because its first try failed.
 */
export function* junitRows(text: string): Generator<ResultRow> {
  let current: { readonly tag: XmlTag; readonly outcomes: Set<string> } | undefined;
  const lines = new LineCounter(text);
  try {
    for (const tag of tagsOf(text)) {
      const { kind, name, depth, at } = tag;
      if (depth === 1 && !ROOTS.has(name))
        throw new ResultFault(lines.at(at), 'The XML is not JUnit: its root is neither testsuites nor testsuite');
      if (kind === 'open' && name === 'testcase') {
        if (current) throw new ResultFault(lines.at(at), 'A testcase is nested in another one');
        current = { tag, outcomes: statusesOf(tag) };
      } else if (kind === 'open' && current?.tag.depth === depth - 1) {
        current.outcomes.add(name);
      } else if (kind === 'close' && current?.tag.depth === depth) {
        yield rowOf(current.tag, current.outcomes, lines);
        current = undefined;
      }
    }
  } catch (error) {
    if (error instanceof XmlFault) throw new ResultFault(lineAt(text, error.at), error.message);
    throw error;
  }
}

const ROOTS: ReadonlySet<string> = new Set(['testsuites', 'testsuite']);

/** Elements in a testcase, and values of its attributes status and result. */
const FAILED: ReadonlySet<string> = new Set([
  'failure',
  'error',
  'flakyFailure',
  'flakyError',
  'rerunFailure',
  'rerunError',
  'status:failed',
  'status:failure',
  'status:error',
]);
const NOT_TRIED: ReadonlySet<string> = new Set([
  'skipped',
  'status:skipped',
  'status:notrun',
  'status:disabled',
  'status:suppressed',
  'status:pending',
]);

function statusesOf({ attributes }: XmlTag): Set<string> {
  const words = ['status', 'result'].flatMap(name => attributes.get(name) ?? []);
  return new Set(words.map(word => `status:${word.toLowerCase()}`));
}

function rowOf({ attributes, at }: XmlTag, outcomes: ReadonlySet<string>, lines: LineCounter): ResultRow {
  const line = lines.at(at);
  const name = rowName([attributes.get('classname') ?? '', attributes.get('name') ?? '']);
  if (name === '') throw new ResultFault(line, 'A testcase has no name');
  const some = (words: ReadonlySet<string>): boolean => [...outcomes].some(word => words.has(word));
  const seconds = attributes.get('time') ?? '';
  return {
    case: name,
    pass: some(FAILED) ? false : some(NOT_TRIED) ? null : true,
    rerun: false,
    metrics: /^\d{1,9}(?:\.\d{1,12})?$/.test(seconds) ? { latency_ms: 1_000 * Number(seconds) } : {},
    line,
  };
}

/** Positions come in ascending order, so each line is counted once. */
class LineCounter {
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  at(place: number): number {
    for (
      let feed = this.#text.indexOf('\n', this.#at);
      feed >= 0 && feed < place;
      feed = this.#text.indexOf('\n', this.#at)
    ) {
      this.#line++;
      this.#at = feed + 1;
    }
    return this.#line;
  }
}
