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
  #previous: { readonly hash: string; readonly sequence: number; readonly sealedAtMs: number } | undefined;

  constructor(isLedger: boolean) {
    this.#isLedger = isLedger;
  }

  judge(examined: Examined, line: Line): Examined {
    this.#isLedger ||= examined.contract?.name === NAME;
    if (!this.#isLedger) return examined;
    const hash = line.bytes && hashOf(line.bytes);
    const isOne = examined.contract?.name === NAME && typeof examined.value === 'object';
    const value = (isOne ? (examined.value ?? {}) : {}) as Partial<LedgerLine>;
    const said = new Set(examined.verdict.violations.map(({ path }) => path));
    const found = isOne
      ? [...this.#troubles(value, line, examined.verdict, hash)].filter(
          ({ path }) => path === undefined || !said.has(path),
        )
      : [finding('LD1', undefined, `is not a line of a ledger${because(examined.verdict)}`)];
    const sealedAtMs = Date.parse(String(value.sealed_at));
    const advice: Violation[] =
      this.#previous && sealedAtMs < this.#previous.sealedAtMs
        ? [finding('LD2', 'sealed_at', 'is before that of the line before')]
        : [];
    const expected = (this.#previous?.sequence ?? 0) + 1;
    this.#previous = {
      hash: hash ?? '',
      sequence: Number.isSafeInteger(value.sequence) ? (value.sequence as number) : expected,
      sealedAtMs: Number.isNaN(sealedAtMs) ? (this.#previous?.sealedAtMs ?? Number.NaN) : sealedAtMs,
    };
    return { ...examined, verdict: withFindings(examined.verdict, found, advice) };
  }

  *#troubles(
    { sequence, previous_sha256: before }: Partial<LedgerLine>,
    { number, isCut }: Line,
    { hash: canonical }: Verdict,
    hash: string | undefined,
  ): Generator<Violation> {
    if (isCut) yield finding('LD1', undefined, 'has no line feed at its end, so that it may be cut off');
    if (canonical !== undefined && canonical !== hash)
      yield finding('LD1', undefined, 'is not canonical JSON (RFC 8785)');
    const previous = this.#previous;
    if (!previous) {
      if (number > 1) yield finding('LD6', undefined, 'stands after what is no ledger');
      else if (sequence !== 1)
        yield finding('LD5', 'sequence', 'must be 1 in the first line: lines before it are gone');
      else if (before !== null) yield finding('LD6', 'previous_sha256', 'must be null in the first line');
      return;
    }
    if (sequence !== previous.sequence + 1) {
      yield finding(
        'LD5',
        'sequence',
        `must be ${previous.sequence + 1}: lines are missing, doubled or in another order`,
      );
    }
    if (before !== previous.hash) {
      yield finding(
        'LD6',
        'previous_sha256',
        'is not the hash of the line before: that one was changed, or is another',
      );
    }
  }
}

const NAME = 'ledger-line';

/** Whether a file is a ledger, by its name. */
export function isLedger(file: string): boolean {
  return path.basename(file) === 'ledger.ndjson';
}

/** Over the bytes of a line and its line feed. */
function hashOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).update('\n').digest('hex')}`;
}

function because({ reason }: Verdict): string {
  return reason ? `: ${reason.message.replace(/\.$/, '')}` : '';
}

function finding(rule_id: string, path: string | undefined, message: string): Violation {
  return path === undefined
    ? { rule_id, message: `The line ${message}.` }
    : { rule_id, message: `${path} ${message}.`, path };
}

/** A line that was refused was judged all the same: it is none. */
function withFindings(verdict: Verdict, found: readonly Violation[], more: readonly Violation[]): Verdict {
  const advice = [...verdict.advice.filter(({ rule_id, path }) => rule_id !== 'LD1' || path !== undefined), ...more];
  if (found.length === 0) return more.length > 0 ? { ...verdict, advice: advice.sort(byRuleThenPath) } : verdict;
  const { reason: _, ...rest } = verdict;
  return {
    ...rest,
    outcome: 'invalid',
    contract: NAME,
    violations: [...verdict.violations, ...found].sort(byRuleThenPath),
    advice: advice.sort(byRuleThenPath),
    hash: undefined,
    environment_hash: undefined,
  };
}
