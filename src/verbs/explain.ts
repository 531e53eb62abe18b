import { loadContracts } from '../contracts/catalogue.ts';
import { check, type Violation } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import type { Rule } from '../contracts/rule.ts';
import { type FolderRule, folderRules } from '../verify/folder-rules.ts';
import { packRules } from '../verify/pack-rules.ts';

/** A rule in one of the formats that it applies to. */
export interface RuleIn {
  readonly contract: Contract;
  readonly rule: Rule;
  /** The violations that the verifier reports for a document that breaks only this rule. */
  readonly broken: readonly Violation[];
}

export interface ExplainedTerm {
  readonly contract?: Contract;
  readonly rules: readonly RuleIn[];
  readonly folderRules: readonly FolderRule[];
  readonly packRules: readonly FolderRule[];
}

/** Finds a format by name, a rule by id or a rule family by its letters. Case does not matter. */
export async function explain(word: string): Promise<ExplainedTerm> {
  const contracts = await loadContracts();
  const contract = contracts.find(({ name }) => name === word.toLowerCase());
  if (contract) return { contract, rules: [], folderRules: [], packRules: [] };
  const isMeant = ({ id }: { id: string }): boolean =>
    id === word.toUpperCase() || id.replace(/\d+$/, '') === word.toUpperCase();
  const rules = contracts.flatMap(contract =>
    contract.rules.filter(isMeant).map(rule => ({ contract, rule, broken: breakIt(contract, rule) })),
  );
  return {
    rules,
    folderRules: folderRules.filter(rule => word.toLowerCase() === 'folders' || isMeant(rule)),
    packRules: packRules.filter(rule => word.toLowerCase() === 'packs' || isMeant(rule)),
  };
}

export { type FolderRule, folderRules, loadContracts, packRules };

function breakIt(contract: Contract, rule: Rule): readonly Violation[] {
  const breach = rule.breach(structuredClone(contract.example) as never);
  return check(contract, breach, { strict: false, internal: true }).violations;
}
