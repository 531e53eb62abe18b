import { loadContracts } from '../contracts/catalogue.ts';
import { check, type Violation } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import type { Rule } from '../contracts/rule.ts';
import { type FolderRule, folderRules } from '../verify/folder-rules.ts';

/** A rule in one of the documents that it binds. */
export interface RuleIn {
  readonly contract: Contract;
  readonly rule: Rule;
  /** What the verifier says of a document that breaks this rule and no other. */
  readonly broken: readonly Violation[];
}

export interface Explanation {
  /** The rules that were asked for. */
  readonly rules: readonly RuleIn[];
  /** The contract that was asked for. */
  readonly contract?: Contract;
  /** The rule about folders that was asked for. */
  readonly folderRule?: FolderRule;
}

/** Looks up a rule by id or a contract by name, whatever the case of the letters. */
export async function explain(word: string): Promise<Explanation> {
  const contracts = await loadContracts();
  const contract = contracts.find(({ name }) => name === word.toLowerCase());
  if (contract) return { contract, rules: [] };
  const folderRule = folderRules.find(({ id }) => id === word.toUpperCase());
  if (folderRule) return { folderRule, rules: [] };
  const rules = contracts.flatMap(contract =>
    contract.rules
      .filter(({ id }) => id === word.toUpperCase())
      .map(rule => ({ contract, rule, broken: breakIt(contract, rule) })),
  );
  return { rules };
}

export { type FolderRule, folderRules, loadContracts };

function breakIt(contract: Contract, rule: Rule): readonly Violation[] {
  const breach = rule.breach(structuredClone(contract.example) as never);
  return check(contract, breach, { strict: false, internal: true }).violations;
}
