import { canonicalMembers, joinMembers, notJson } from '../base/canonical.ts';
import { bytesHash } from '../base/hash.ts';
import { byRuleThenPath, check, type Violation } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import type { Context } from '../contracts/rule.ts';

export interface Judgement {
  readonly valid: boolean;
  readonly violations: readonly Violation[];
  readonly advice: readonly Violation[];
  readonly omitted: number;
  readonly hash?: string;
  readonly environment_hash?: string;
}

/** Judges a value that the strict reader made from `bytes`. */
export function judge(contract: Contract, value: unknown, bytes: Uint8Array, context: Context): Judgement {
  const { violations, advice, omitted } = check(contract, value, context);
  if (violations.length > 0) return { valid: false, violations, advice, omitted };
  const members = canonicalMembers(value as object);
  if (contract.canonicalBytes && !isCanonical(bytes, joinMembers(members))) {
    const finding = {
      rule_id: contract.canonicalBytes,
      message: 'The document is valid, but its bytes are not canonical JSON (RFC 8785).',
    };
    if (context.strict) return { valid: false, violations: [finding], advice, omitted };
    return {
      valid: true,
      violations,
      advice: [...advice, finding].sort(byRuleThenPath),
      omitted,
      ...hashes(contract, members),
    };
  }
  return { valid: true, violations, advice, omitted, ...hashes(contract, members) };
}

/** Judges a value of unknown origin. Never throws, whatever a getter or a proxy in it does. */
export function judgeValue(contract: Contract, value: unknown, context: Context): Judgement {
  const roundTrip = contract.canonicalBytes ?? contract.unknownKeys;
  try {
    const trouble = notJson(value);
    const { violations, advice, omitted } = check(contract, value, context);
    if (trouble) {
      const { path, message } = trouble;
      const finding =
        path === ''
          ? { rule_id: roundTrip, message: `The document ${message}.` }
          : { rule_id: roundTrip, message: `${path} ${message}.`, path };
      const all = violations.some(({ path }) => path === undefined)
        ? violations
        : [...violations, finding].sort(byRuleThenPath);
      return { valid: false, violations: all, advice, omitted };
    }
    if (violations.length > 0) return { valid: false, violations, advice, omitted };
    return { valid: true, violations, advice, omitted, ...hashes(contract, canonicalMembers(value as object)) };
  } catch {
    const finding = { rule_id: roundTrip, message: 'The document cannot be read as plain JSON.' };
    return { valid: false, violations: [finding], advice: [], omitted: 0 };
  }
}

function hashes(
  contract: Contract,
  members: ReadonlyMap<string, string>,
): Pick<Judgement, 'hash' | 'environment_hash'> {
  const { core, environment } = keySets(contract);
  const hash = bytesHash(`${joinMembers(members, core)}\n`);
  return environment ? { hash, environment_hash: bytesHash(`${joinMembers(members, environment)}\n`) } : { hash };
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

/** One final line feed is no difference: many tools cannot help adding it. */
function isCanonical(bytes: Uint8Array, canonical: string): boolean {
  const end = bytes[bytes.length - 1] === 0x0a ? bytes.length - 1 : bytes.length;
  // Lengths first: almost every document that differs, differs there, and byteLength costs no copy.
  return (
    Buffer.byteLength(canonical) === end &&
    Buffer.from(bytes.buffer, bytes.byteOffset, end).equals(Buffer.from(canonical))
  );
}
