import { canonicalMembers, cutMembers, joinMembers, notJson } from '../base/canonical.ts';
import type { JsonDocument } from '../base/json.ts';
import { bytesHash } from '../base/hash.ts';
import { byRuleThenPath, check, type Findings, type Violation } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import type { Context } from '../contracts/rule.ts';

export interface DocumentJudgement {
  readonly valid: boolean;
  readonly violations: readonly Violation[];
  readonly advice: readonly Violation[];
  readonly omitted?: number | undefined;
  readonly hash?: string | undefined;
  readonly environment_hash?: string | undefined;
}

export function judge(contract: Contract, document: JsonDocument, context: Context): DocumentJudgement {
  const { value } = document;
  const found = check(contract, value, context);
  const isInvalid = found.violations.length > 0;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject || (isInvalid && !context.strict)) return invalid(found);
  const cut = cutMembers(value, document.text, document.starts);
  const members = cut ?? canonicalMembers(value);
  const isCanonical = cut !== undefined || isText(joinMembers(members), document.text);
  if (isCanonical || !contract.canonicalBytes) return isInvalid ? invalid(found) : valid(contract, members, found);
  const finding = {
    rule_id: contract.canonicalBytes,
    message: 'The bytes are not canonical JSON (RFC 8785): keys must be sorted, without white space.',
  };
  if (context.strict) return invalid({ ...found, violations: [...found.violations, finding].sort(byRuleThenPath) });
  const advice = [...found.advice, finding].sort(byRuleThenPath);
  return valid(contract, members, { ...found, advice });
}

/** Tolerates one final line feed, because many tools add it. */
function isText(canonical: string, text: string): boolean {
  return text === canonical || text === `${canonical}\n`;
}

/** Judges a value of unknown origin. Never throws, even if a getter or a proxy does. */
export function judgeValue(contract: Contract, value: unknown, context: Context): DocumentJudgement {
  const roundTrip = contract.canonicalBytes ?? contract.unknownKeys;
  try {
    const problem = notJson(value);
    const found = check(contract, value, context);
    const isObject = found.violations.every(({ path }) => path !== undefined);
    if (problem && isObject) {
      const { path, message } = problem;
      const finding =
        path === ''
          ? { rule_id: roundTrip, message: `The document ${message}.` }
          : { rule_id: roundTrip, message: `${path} ${message}.`, path };
      return invalid({ ...found, violations: [...found.violations, finding].sort(byRuleThenPath) });
    }
    return found.violations.length > 0 ? invalid(found) : valid(contract, canonicalMembers(value as object), found);
  } catch {
    const finding = { rule_id: roundTrip, message: 'The document cannot be read as plain JSON.' };
    return invalid({ violations: [finding], advice: [], omitted: 0 });
  }
}

function invalid({ violations, advice, omitted }: Findings): DocumentJudgement {
  return { valid: false, violations, advice, omitted: omitted || undefined };
}

/** Only valid documents have hashes. */
function valid(
  contract: Contract,
  members: ReadonlyMap<string, string>,
  { advice, omitted }: Findings,
): DocumentJudgement {
  const { core, environment } = keySets(contract);
  return {
    valid: true,
    violations: [],
    advice,
    omitted: omitted || undefined,
    hash: bytesHash(`${joinMembers(members, core)}\n`),
    environment_hash: environment && environmentHash(`${joinMembers(members, environment)}\n`),
  };
}

/** Records of the same environment often follow each other, so the last hash is cached. */
let lastEnvironment = { text: '', hash: '' };

function environmentHash(text: string): string {
  if (text !== lastEnvironment.text) lastEnvironment = { text, hash: bytesHash(text) };
  return lastEnvironment.hash;
}

interface KeySets {
  readonly core: ReadonlySet<string> | undefined;
  readonly environment: ReadonlySet<string> | undefined;
}

const keySetsByContract = new WeakMap<Contract, KeySets>();

function keySets(contract: Contract): KeySets {
  let sets = keySetsByContract.get(contract);
  if (!sets) {
    sets = {
      core: contract.core && new Set(contract.core),
      environment: contract.environment && new Set(contract.environment),
    };
    keySetsByContract.set(contract, sets);
  }
  return sets;
}
