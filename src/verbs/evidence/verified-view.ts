import { EXIT, type Options, type Verdict, verifyInBatches, type Violation } from '../../verify/index.ts';
import type { Verified } from './evidence-view.ts';

/** Verifies a folder, a pack or a document like `proctor verify`, and keeps what fits on a page. Names no host path. */
export async function verifiedView(input: string, options: Options): Promise<Verified> {
  const collected = new CollectedVerdicts(input);
  for await (const verdicts of verifyInBatches(input, options)) verdicts.forEach(verdict => collected.add(verdict));
  return collected.view();
}

class CollectedVerdicts {
  readonly #input: string;
  readonly #broken: Verified['broken'] = [];
  readonly #advice: Verified['advice'] = [];
  readonly #notChecked = new Set<string>();
  readonly #notes = new Set<string>();
  #outcomes: Record<string, number> = {};
  #contracts: Record<string, number> = {};
  #outcome: Verified['outcome'] = 'valid';
  #violations = 0;
  #violationsListed = 0;
  #adviceTotal = 0;

  constructor(input: string) {
    this.#input = input;
  }

  add(verdict: Verdict): void {
    const { outcome, documents, contract, notes = [], omitted = 0 } = verdict;
    if (EXIT[outcome] > EXIT[this.#outcome]) this.#outcome = outcome;
    if (verdict.within === undefined) {
      this.#outcomes = { ...documents?.outcomes };
      this.#contracts = documents ? { ...documents.contracts } : contract === undefined ? {} : { [contract]: 1 };
      for (const note of notes) this.#notes.add(this.#plain(note));
    }
    for (const item of verdict.not_checked) this.#notChecked.add(this.#plain(item));
    this.#violations += verdict.violations.length + omitted;
    if (outcome !== 'valid') this.#addBroken(verdict);
    this.#adviceTotal += verdict.advice.length;
    for (const one of verdict.advice) {
      if (this.#advice.length >= ADVICE_MAX) break;
      this.#advice.push({ file: this.#nameOf(verdict), ...this.#finding(one) });
    }
  }

  view(): Verified {
    return {
      outcome: this.#outcome,
      outcomes: this.#outcomes,
      contracts: this.#contracts,
      broken: this.#broken,
      violations_total: this.#violations,
      advice: this.#advice,
      advice_total: this.#adviceTotal,
      not_checked: [...this.#notChecked].slice(0, NOT_CHECKED_MAX),
      not_checked_total: this.#notChecked.size,
      notes: [...this.#notes],
    };
  }

  /** A folder is invalid if one of its documents is. Then it has no violation of its own, and says nothing new. */
  #addBroken(verdict: Verdict): void {
    const { outcome, contract = null, reason, violations } = verdict;
    if (violations.length === 0 && !reason && this.#broken.length > 0) return;
    if (this.#broken.length >= BROKEN_MAX) return;
    const listed = violations.slice(0, Math.max(0, VIOLATIONS_MAX - this.#violationsListed));
    this.#violationsListed += listed.length;
    this.#broken.push({
      file: this.#nameOf(verdict),
      outcome,
      contract,
      reason: reason ? { code: reason.code, message: this.#plain(reason.message) } : null,
      violations: listed.map(one => this.#finding(one)),
    });
  }

  #finding({ rule_id, message, path }: Violation): Verified['broken'][number]['violations'][number] {
    return { rule_id, message: this.#plain(message), path: path === undefined ? null : this.#plain(path) };
  }

  /** The name of a document in the folder or pack; empty for the whole. */
  #nameOf({ input }: Verdict): string {
    return input.startsWith(this.#input) ? input.slice(this.#input.length).replace(/^[\\/]/, '') : input;
  }

  #plain(text: string): string {
    const plain = text.replaceAll(this.#input, '.');
    return plain.length > TEXT_CHARS_MAX ? `${plain.slice(0, TEXT_CHARS_MAX).toWellFormed()}…` : plain;
  }
}

const BROKEN_MAX = 200;
const VIOLATIONS_MAX = 1_000;
const ADVICE_MAX = 100;
const NOT_CHECKED_MAX = 100;
const TEXT_CHARS_MAX = 2_000;
