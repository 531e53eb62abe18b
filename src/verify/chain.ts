import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Line } from '../base/lines.ts';
import { byRuleThenPath, type Violation } from '../contracts/check.ts';
import type { LedgerLine } from '../contracts/ledger/index.ts';
import type { Examined } from './examine.ts';
import type { Verdict } from './verdict.ts';

/**
 * LD1, LD2, LD5 and LD6, as far as they involve more than one line. A stream counts as a ledger because of its name,
 * or from its first ledger line on. Other streams pass unchanged.
 */
export class LedgerChain {
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
    const found = [...formViolations(line, verdict, hash), ...orderViolations(previous, value, line)];
    const isEarly = Date.parse(String(value.sealed_at)) < (previous?.sealedAtMs ?? Number.NaN);
    const advice = isEarly ? [finding('LD2', 'is earlier than in the previous line', 'sealed_at')] : [];
    return { ...examined, verdict: withFindings(verdict, found, advice) };
  }
}

const NAME = 'ledger-line';

export function isLedger(file: string): boolean {
  return path.basename(file) === 'ledger.ndjson';
}

/** The facts about a line that the checks of the next line need. */
interface Link {
  readonly hash: string | undefined;
  readonly sequence: number;
  readonly sealedAtMs: number;
}

/** An unreadable line counts as the expected one. */
function linkAfter(previous: Link | undefined, line: Partial<LedgerLine>, hash: string | undefined): Link {
  const { sequence } = line;
  const sealedAtMs = Date.parse(String(line.sealed_at));
  return {
    hash,
    sequence: typeof sequence === 'number' ? sequence : (previous?.sequence ?? 0) + 1,
    sealedAtMs: Number.isNaN(sealedAtMs) ? (previous?.sealedAtMs ?? Number.NaN) : sealedAtMs,
  };
}

/** Hashes a line together with its line feed. */
function hashOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).update('\n').digest('hex')}`;
}

/** The content hash covers the canonical bytes, so it differs for a line that is not canonical. */
function* formViolations({ isCut }: Line, verdict: Verdict, hash: string | undefined): Generator<Violation> {
  if (isCut) yield finding('LD1', 'has no line feed at the end, so it may be incomplete: run proctor recover');
  if (verdict.hash !== undefined && verdict.hash !== hash) yield finding('LD1', 'is not canonical JSON (RFC 8785)');
}

function* orderViolations(
  previous: Link | undefined,
  { sequence, previous_sha256: before }: Partial<LedgerLine>,
  { number }: Line,
): Generator<Violation> {
  if (!previous && number > 1) yield finding('LD6', 'follows something that is not a ledger line');
  else if (!previous) {
    if (sequence !== 1) yield finding('LD5', 'must be 1 in the first line: earlier lines are missing', 'sequence');
    else if (before !== null) yield finding('LD6', 'must be null in the first line', 'previous_sha256');
  } else {
    const next = previous.sequence + 1;
    if (sequence !== next)
      yield finding('LD5', `must be ${next}: lines are missing, duplicated or reordered`, 'sequence');
    if (before !== previous.hash) yield finding('LD6', UNCHAINED, 'previous_sha256');
  }
}

const UNCHAINED = 'is not the hash of the previous line: that line was changed or replaced';

function finding(rule_id: string, message: string, at?: string): Violation {
  return at === undefined
    ? { rule_id, message: `The line ${message}.` }
    : { rule_id, message: `${at} ${message}.`, path: at };
}

function withFindings(verdict: Verdict, found: readonly Violation[], more: readonly Violation[]): Verdict {
  const said = new Set(verdict.violations.flatMap(({ path: at }) => at ?? []));
  const violations = found.filter(({ path: at }) => at === undefined || !said.has(at));
  // In a ledger, bytes that are not canonical are a violation, so the advice about them is redundant.
  const advice = [...verdict.advice.filter(({ path: at }) => at !== undefined), ...more].sort(byRuleThenPath);
  if (violations.length === 0) return more.length > 0 ? { ...verdict, advice } : verdict;
  const { omitted } = verdict;
  return { ...invalid(verdict, [...verdict.violations, ...violations].sort(byRuleThenPath)), advice, omitted };
}

/** Rejects anything in a ledger that is not a ledger line, even if it is another valid document. */
function noLine(verdict: Verdict): Verdict {
  const why = verdict.reason ? `: ${verdict.reason.message.replace(/\.$/, '')}` : '';
  return invalid(verdict, [finding('LD1', `is not a ledger line${why}`)]);
}

function invalid({ input, within, not_checked }: Verdict, violations: readonly Violation[]): Verdict {
  return { input, within, outcome: 'invalid', contract: NAME, violations, advice: [], not_checked };
}
