import { type CaseArtifact, caseArtifact } from '../../contracts/artifacts/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import { keepsContract } from '../../evidence/document.ts';

/**
 * The answers of a run of this process, as the texts that were stored. Judging reads these instead of as many files, up
 * to a limit.
 */
export class HeldAnswers {
  readonly #answers = new Map<string, { readonly asked: SuiteCase; readonly text: string }>();
  #units = 0;

  take(asked: SuiteCase, text: string): void {
    if (text.length > EACH_UNITS_MAX || this.#units + text.length > UNITS_MAX) return;
    this.#units += text.length;
    this.#answers.set(asked.id, { asked, text });
  }

  /** The cases with these ids, in this order; undefined if one is missing. */
  cases(ids: readonly string[]): SuiteCase[] | undefined {
    const found = ids.flatMap(id => this.#answers.get(id)?.asked ?? []);
    return found.length === ids.length ? found : undefined;
  }

  has(id: string): boolean {
    return this.#answers.has(id);
  }

  /** The artifact of a case; undefined if it violates its contract. */
  artifact(id: string): CaseArtifact | undefined {
    const { text } = this.#answers.get(id) ?? {};
    if (text === undefined) return undefined;
    // Parsed again, because the stored text has its keys in another order, on which the hash of the answer depends.
    const artifact = JSON.parse(text) as CaseArtifact;
    // An answer was checked when it arrived.
    return artifact.runner_failure && !keepsContract(artifact, caseArtifact) ? undefined : artifact;
  }
}

const UNITS_MAX = 16 * 1024 * 1024;
const EACH_UNITS_MAX = 1024 * 1024;
