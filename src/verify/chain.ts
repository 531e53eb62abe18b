import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Line } from '../base/lines.ts';
import { byRuleThenPath, type Violation } from '../contracts/check.ts';
import type { LedgerLine } from '../contracts/ledger/index.ts';
import type { Examined } from './examine.ts';
import type { Verdict } from './verdict.ts';

/**
 * What binds the lines of a ledger to each other: LD1, LD2, LD5 and LD6, as far as no line alone can tell. A stream is a
 * ledger by its name, or from its first line of one on; any other stream passes as it is.
 */
export class Chain {
  #isLedger: boolean;
  #previous: Link | undefined;

  constructor(isLedger: boolean) {
    this.#isLedger = isLedger;
  }

  judge(examined: Examined, line: Line): Examined {
    const isOne = examined.contract?.name === NAME;
    this.#isLedger ||= isOne;
    if (!this.#isLedger) return examined;
    const value = (isOne ? (examined.value ?? {}) : {}) as Partial<LedgerLine>;
    const hash = line.bytes && hashOf(line.bytes);
    const previous = this.#previous;
    this.#previous = linkAfter(previous, value, hash);
    if (!isOne) return { verdict: noLine(examined.verdict) };
    const { verdict } = examined;
    const found = [...formTroubles(line, verdict, hash), ...orderTroubles(previous, value, line)];
    const isEarly = Date.parse(String(value.sealed_at)) < (previous?.sealedAtMs ?? Number.NaN);
    const advice = isEarly ? [finding('LD2', 'is before that of the line before', 'sealed_at')] : [];
    return { ...examined, verdict: withFindings(verdict, found, advice) };
  }
}

const NAME = 'ledger-line';

/** Whether a file is a ledger, by its name. */
export function isLedger(file: string): boolean {
  return path.basename(file) === 'ledger.ndjson';
}

/** A line, as the next one sees it. */
interface Link {
  readonly hash: string | undefined;
  readonly sequence: number;
  readonly sealedAtMs: number;
}

/** A line that cannot be read stands for the one that should be there. */
function linkAfter(previous: Link | undefined, line: Partial<LedgerLine>, hash: string | undefined): Link {
  const { sequence } = line;
  const sealedAtMs = Date.parse(String(line.sealed_at));
  return {
    hash,
    sequence: typeof sequence === 'number' ? sequence : (previous?.sequence ?? 0) + 1,
    sealedAtMs: Number.isNaN(sealedAtMs) ? (previous?.sealedAtMs ?? Number.NaN) : sealedAtMs,
  };
}

/** Over the bytes of a line and its line feed. */
function hashOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).update('\n').digest('hex')}`;
}

/** The content hash of a document is over its canonical bytes, so a line that is not canonical has two. */
function* formTroubles({ isCut }: Line, verdict: Verdict, hash: string | undefined): Generator<Violation> {
  if (isCut) yield finding('LD1', 'has no line feed at its end, so that it may be cut off: proctor recover mends that');
  if (verdict.hash !== undefined && verdict.hash !== hash) yield finding('LD1', 'is not canonical JSON (RFC 8785)');
}

function* orderTroubles(
  previous: Link | undefined,
  { sequence, previous_sha256: before }: Partial<LedgerLine>,
  { number }: Line,
): Generator<Violation> {
  if (!previous && number > 1) yield finding('LD6', 'stands after what is no line of a ledger');
  else if (!previous) {
    if (sequence !== 1) yield finding('LD5', 'must be 1 in the first line: those before it are gone', 'sequence');
    else if (before !== null) yield finding('LD6', 'must be null in the first line', 'previous_sha256');
  } else {
    const next = previous.sequence + 1;
    if (sequence !== next) yield finding('LD5', `must be ${next}: lines are missing, doubled or moved`, 'sequence');
    if (before !== previous.hash) yield finding('LD6', UNCHAINED, 'previous_sha256');
  }
}

const UNCHAINED = 'is not the hash of the line before: that one was changed, or is another';

function finding(rule_id: string, message: string, at?: string): Violation {
  return at === undefined
    ? { rule_id, message: `The line ${message}.` }
    : { rule_id, message: `${at} ${message}.`, path: at };
}

function withFindings(verdict: Verdict, found: readonly Violation[], more: readonly Violation[]): Verdict {
  const said = new Set(verdict.violations.flatMap(({ path: at }) => at ?? []));
  const violations = found.filter(({ path: at }) => at === undefined || !said.has(at));
  // That its bytes are not canonical is no advice in a ledger.
  const advice = [...verdict.advice.filter(({ path: at }) => at !== undefined), ...more].sort(byRuleThenPath);
  if (violations.length === 0) return more.length > 0 ? { ...verdict, advice } : verdict;
  const { omitted } = verdict;
  return { ...invalid(verdict, [...verdict.violations, ...violations].sort(byRuleThenPath)), advice, omitted };
}

/** What stands in a ledger and is none of its lines. What else could be said of it does not matter. */
function noLine(verdict: Verdict): Verdict {
  const why = verdict.reason ? `: ${verdict.reason.message.replace(/\.$/, '')}` : '';
  return invalid(verdict, [finding('LD1', `is no line of a ledger${why}`)]);
}

function invalid({ input, within, not_checked }: Verdict, violations: readonly Violation[]): Verdict {
  return { input, within, outcome: 'invalid', contract: NAME, violations, advice: [], not_checked };
}
