import { canonicalize } from '../base/canonical.ts';
import { clip } from '../base/clip.ts';
import { Masker, maskingOf } from '../base/masker.ts';
import { placeOf } from '../base/place.ts';
import {
  byKind,
  type CaseChange,
  type CaseDifference,
  DIFFERENCE_BYTES_MAX,
  DIFFERENCES_MAX,
} from '../contracts/comparison/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import { expectedDifferences } from './expected-change.ts';

/** A difference before its values are made into short texts. */
export interface Draft {
  readonly what: CaseDifference['what'];
  readonly at: string;
  /** Undefined where the side has no such value. */
  readonly was: unknown;
  readonly is: unknown;
}

/** How a case differs between two suites, in input, expectations and metadata. */
export function caseChange(was: SuiteCase, is: SuiteCase): CaseChange {
  const drafts = [
    ...expectedDifferences(was.expected ?? {}, is.expected ?? {}),
    ...keyDifferences('input', was.input, is.input),
    ...keyDifferences('metadata', was.metadata ?? {}, is.metadata ?? {}),
  ].sort(byKind);
  const differences = drafts.slice(0, DIFFERENCES_MAX).map(shown);
  const more = drafts.length - differences.length;
  return { differences, ...(more > 0 && { more }) };
}

function* keyDifferences(what: 'input' | 'metadata', was: object, is: object): Generator<Draft> {
  const before = new Map<string, unknown>(Object.entries(was));
  const now = new Map<string, unknown>(Object.entries(is));
  for (const key of new Set([...before.keys(), ...now.keys()])) {
    const [old, fresh] = [before.get(key), now.get(key)];
    if (textOf(old) !== textOf(fresh)) yield { what, at: placeOf(what, key), was: old, is: fresh };
  }
}

/** The values as short texts, without credentials, around the place where they first differ. */
function shown({ what, at, was, is }: Draft): CaseDifference {
  const masked = [was, is].map(value => (value === undefined ? null : masker().text(textOf(value) ?? '')));
  const [before = null, now = null] = masked;
  const from = before === null || now === null ? 0 : firstDifference(before, now);
  return { what, at: clip(at, AT_BYTES_MAX).text, baseline: cutAt(before, from), new: cutAt(now, from) };
}

const AT_BYTES_MAX = 200;

/** Nobody declares secrets to a comparison; credentials of well-known forms are found without. */
const masker = (): Masker => new Masker(maskingOf([]));

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : canonicalize(value);
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

/** Room for an ellipsis of three bytes at each end. */
const TEXT_BYTES_MAX = DIFFERENCE_BYTES_MAX - 6;

/** How much of what is the same stands before the first difference. */
const LEAD_UNITS = 40;
