import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { Masker, maskingOf } from '../../base/masker.ts';
import { placeOf } from '../../base/place.ts';
import {
  byKind,
  type CaseChange,
  type CaseDifference,
  DIFFERENCE_BYTES_MAX,
  DIFFERENCES_MAX,
} from '../../contracts/comparison/index.ts';
import { groupOf, type SuiteCase } from '../../contracts/suite/index.ts';
import { expectedDifferences } from './expected-change.ts';
import { workDifferences } from './work-change.ts';

/** A difference before its values are shortened. */
export interface Draft {
  readonly what: CaseDifference['what'];
  readonly at: string;
  /** Undefined if the side has no such value. */
  readonly was: unknown;
  readonly is: unknown;
}

/**
 * How a case differs between two suites in input, work, expectations and metadata. Undefined if the question is the same,
 * for example if only the order of a list changed or an empty value was removed.
 */
export function caseChange(was: SuiteCase, is: SuiteCase): CaseChange | undefined {
  const drafts = [
    ...expectedDifferences(was.expected ?? {}, is.expected ?? {}),
    ...keyDifferences('input', was.input, is.input),
    ...workDifferences(was, is),
    ...groupDifferences(was, is),
  ].sort(byKind);
  if (drafts.length === 0) return undefined;
  const differences = drafts.slice(0, DIFFERENCES_MAX).map(shown);
  const more = drafts.length - differences.length;
  return { differences, ...(more > 0 && { more }) };
}

/** Compares metadata and suite. A case that leaves a suite, tag or severity also escapes the gate's limits for it. */
function* groupDifferences(was: SuiteCase, is: SuiteCase): Generator<Draft> {
  const [before, now] = [groupOf(was), groupOf(is)];
  const lost = new Set<string>();
  if (before.tags?.some(tag => !now.tags?.includes(tag))) lost.add('metadata.tags');
  if (before.severity !== undefined && before.severity !== now.severity) lost.add('metadata.severity');
  for (const draft of keyDifferences('metadata', was.metadata ?? {}, is.metadata ?? {}))
    yield lost.has(draft.at) ? { ...draft, what: 'lost' } : draft;
  if (before.suite !== undefined && before.suite !== now.suite)
    yield { what: 'lost', at: 'suite', was: before.suite, is: now.suite };
}

function* keyDifferences(what: 'input' | 'metadata', was: object, is: object): Generator<Draft> {
  const before = new Map<string, unknown>(Object.entries(was));
  const now = new Map<string, unknown>(Object.entries(is));
  for (const key of new Set([...before.keys(), ...now.keys()])) {
    const [baseline, candidate] = [before.get(key), now.get(key)];
    if (jsonOf(baseline) !== jsonOf(candidate)) yield { what, at: placeOf(what, key), was: baseline, is: candidate };
  }
}

/** The values as short texts without credentials, around their first difference. */
function shown({ what, at, was, is }: Draft): CaseDifference {
  // Quotes distinguish a text of digits from a number.
  const write = textOf(was) === textOf(is) ? jsonOf : textOf;
  const masked = [was, is].map(value => (value === undefined ? null : masker().text(write(value) ?? '')));
  const [before = null, now = null] = masked;
  const from = before === null || now === null ? 0 : firstDifference(before, now);
  return { what, at: clip(at, AT_BYTES_MAX).text, baseline: cutAt(before, from), new: cutAt(now, from) };
}

const AT_BYTES_MAX = 200;

/** A comparison declares no secrets, but credentials in well-known formats are still masked. */
const masker = (): Masker => new Masker(maskingOf([]));

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : jsonOf(value);
}

function jsonOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalize(value);
}

function firstDifference(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let at = 0;
  while (at < most && one[at] === other[at]) at++;
  return at;
}

function cutAt(text: string | null, from: number): string | null {
  if (text === null || Buffer.byteLength(text) <= TEXT_BYTES_MAX) return text;
  const start = Math.max(0, from - LEAD_UNITS);
  const { text: head, truncated } = clip(text.slice(start).toWellFormed(), TEXT_BYTES_MAX);
  return `${start > 0 ? '…' : ''}${head}${truncated ? '…' : ''}`;
}

/** Leaves room for a three-byte ellipsis at each end. */
const TEXT_BYTES_MAX = DIFFERENCE_BYTES_MAX - 6;

/** How many equal characters to show before the first difference. */
const LEAD_UNITS = 40;
