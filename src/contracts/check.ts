import { placeOf } from '../base/place.ts';
import type { Contract } from './contract.ts';
import { kindOf, shapeFaults } from './faults.ts';
import { fits } from './fits.ts';
import type { Context, Finding, Part, Rule } from './rule.ts';

import { unknownKeys } from './unknown-keys.ts';

/** One broken rule, at one place. Also the form of advice, which breaks a SHOULD. */
export interface Violation {
  readonly rule_id: string;
  readonly message: string;
  /** Reads `a.b[0]`; absent when the whole document is meant. */
  readonly path?: string;
}

export interface Findings {
  readonly violations: readonly Violation[];
  readonly advice: readonly Violation[];
  /** How many more were found than are listed: a hostile document can break a rule a million times. */
  readonly omitted: number;
}

/** Violations and advice are listed up to this many each; the rest is counted. */
export const FINDINGS_MAX = 1000;

/** Judges a value by all rules of a contract. The value is read, never changed. */
export function check(contract: Contract, value: unknown, context: Context): Findings {
  const found = new Found();
  const first = contract.rules[0] as Rule;

  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    found.add('must', { rule_id: first.id, message: `The document must be an object, is ${kindOf(value)}.` });
    return found.findings();
  }
  const touched = fits(contract.shape, value) ? NOTHING : lookCloser(contract, value, context, found);
  if (touched === 'unversioned') return found.findings();
  for (const rule of contract.rules) {
    for (const part of partsOf(rule)) {
      if (touched.size > 0 && isTouched(part, touched)) continue;
      for (const { level, path, message } of part.check(value as never, context)) {
        found.add(level, violation(rule.id, path, message));
      }
    }
  }
  return found.findings();
}

const NOTHING: ReadonlySet<string> = new Set();

/**
 * Everything about the shape of a document: keys that have lost theirs, and keys that nobody knows. Returns the first
 * kind, by which the rules that look at them are known.
 */
function lookCloser(
  contract: Contract,
  value: object,
  context: Context,
  found: Found,
): ReadonlySet<string> | 'unversioned' {
  const owners = ownersIn(contract);
  const version = contract.versionFirst && contract.version?.field;
  const touched = new Set<string>();
  for (const fault of shapeFaults(contract.shape, value)) {
    // The version stands first in the shape, so nothing has been said when it turns out to be unknown.
    found.add('must', violation(ownerOf(owners, fault.path), fault.path, fault.message));
    if (fault.path === version) return 'unversioned';
    touched.add(withoutIndices(fault.path));
  }
  for (const { parent, key } of unknownKeys(contract.shape, value)) {
    const rule = parent === '' ? contract.unknownKeys : ownerOf(owners, parent);
    found.add(
      context.strict ? 'must' : 'should',
      violation(rule, placeOf(parent, key), 'is a key that this contract does not know'),
    );
  }
  return touched;
}

/** Violations and advice as they are found; past the bound they are only counted. */
class Found {
  readonly #lists = { must: [] as Violation[], should: [] as Violation[] };
  #omitted = 0;

  add(level: Finding['level'], violation: Violation): void {
    const list = this.#lists[level];
    if (list.length < FINDINGS_MAX) list.push(violation);
    else this.#omitted++;
  }

  findings(): Findings {
    const { must, should } = this.#lists;
    if (must.length > 1) must.sort(byRuleThenPath);
    if (should.length > 1) should.sort(byRuleThenPath);
    return { violations: must, advice: should, omitted: this.#omitted };
  }
}

/** By rule number (RN2 before RN10), then path, then message, by UTF-16 code unit. */
export function byRuleThenPath(a: Violation, b: Violation): number {
  return (
    compare(prefixOf(a.rule_id), prefixOf(b.rule_id)) ||
    numberOf(a.rule_id) - numberOf(b.rule_id) ||
    compare(a.path ?? '', b.path ?? '') ||
    compare(a.message, b.message)
  );
}

function violation(rule_id: string, path: string, message: string): Violation {
  return path === '' ? { rule_id, message } : { rule_id, message: `${path} ${message}.`, path };
}

/** Which rule owns which key, longest key first. */
type Owners = readonly { readonly field: string; readonly rule: string }[];

const ownersByContract = new WeakMap<Contract, Owners>();

function ownersIn(contract: Contract): Owners {
  let owners = ownersByContract.get(contract);
  if (!owners) {
    owners = contract.rules
      .flatMap(rule => rule.fields.map(field => ({ field, rule: rule.id })))
      .sort((a, b) => b.field.length - a.field.length);
    ownersByContract.set(contract, owners);
  }
  return owners;
}

function ownerOf(owners: Owners, path: string): string {
  const plain = withoutIndices(path);
  const owner = owners.find(({ field }) => isWithin(plain, field));
  if (!owner) throw new Error(`No rule owns ${plain}.`);
  return owner.rule;
}

const partsByRule = new WeakMap<Rule, readonly Part[]>();

/** A rule with one check has one part, over all keys that it owns and reads. */
function partsOf(rule: Rule): readonly Part[] {
  let parts = partsByRule.get(rule);
  if (!parts) {
    const { check, fields, reads = [] } = rule;
    parts = [...(check ? [{ over: [...fields, ...reads], check }] : []), ...(rule.parts ?? [])];
    partsByRule.set(rule, parts);
  }
  return parts;
}

/** Whether a key that a check needs, or something around or inside it, has lost its shape. */
function isTouched({ over, shallow }: Part, touched: ReadonlySet<string>): boolean {
  for (const place of touched) {
    if (over.some(field => isWithin(field, place) || (!shallow && isWithin(place, field)))) return true;
  }
  return false;
}

function withoutIndices(path: string): string {
  return path.replace(/\[\d+\]/g, '[]');
}

function isWithin(path: string, field: string): boolean {
  return (
    path.startsWith(field) && (path.length === field.length || path[field.length] === '.' || path[field.length] === '[')
  );
}

function prefixOf(id: string): string {
  return id.replace(/\d+$/, '');
}

function numberOf(id: string): number {
  return Number(/\d+$/.exec(id)?.[0] ?? 0);
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
