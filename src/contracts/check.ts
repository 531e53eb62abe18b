import { nearestWord } from '../base/nearest.ts';
import { placeOf } from '../base/place.ts';
import type { Contract } from './contract.ts';
import { type CompiledShape, formOf } from './form.ts';
import { kindOf } from './kind.ts';
import { type Context, type Finding, type RulePart, type Rule, UNKNOWN_KEY } from './rule.ts';

/** One broken rule at one path. Advice (a broken SHOULD) has the same form. */
export interface Violation {
  readonly rule_id: string;
  readonly message: string;
  /** Such as `a.b[0]`; absent for the whole document. */
  readonly path?: string;
}

export interface Findings {
  readonly violations: readonly Violation[];
  readonly advice: readonly Violation[];
  /** The number of findings that are not listed: a hostile document can break a rule a million times. */
  readonly omitted: number;
}

/** The maximum number of listed violations, and of listed advice; the rest is only counted. */
const FINDINGS_MAX = 1000;

/** The check stops after this many faults. No legitimate document has that many. */
const FAULTS_MAX = 2_000_000;

/** Checks a value against all rules of a contract. Never changes the value. */
export function check(contract: Contract, value: unknown, context: Context): Findings {
  const found = new FindingCollector();
  const plan = planOf(contract);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    found.add('must', { rule_id: plan.first, message: `The document must be an object, but is ${kindOf(value)}.` });
    return found.findings();
  }
  const touched = plan.form.fits(value) ? NOTHING : lookCloser(plan, contract, value, context, found);
  if (typeof touched === 'string') return found.findings();
  for (const { rule, over, shallow, check } of plan.parts) {
    if (touched.size > 0 && isTouched(over, shallow, touched)) continue;
    for (const { level, path, message } of check(value as never, context)) {
      found.add(level, violation(rule, path, message));
    }
  }
  return found.findings();
}

const NOTHING: ReadonlySet<string> = new Set();

/** Reports malformed and unknown keys. Returns the paths of the malformed ones, so that checks that need them are skipped. */
function lookCloser(
  { form, owners }: Plan,
  contract: Contract,
  value: object,
  context: Context,
  found: FindingCollector,
): ReadonlySet<string> | 'unversioned' | 'hopeless' {
  const version = contract.versionFirst && contract.version?.field;
  const touched = new Set<string>();
  let faults = 0;
  for (const { path, message } of form.faults(value, '')) {
    // The version comes first in the shape, so nothing else has been reported yet.
    found.add('must', violation(ownerOf(owners, path), path, message));
    if (path === version) return 'unversioned';
    touched.add(withoutIndices(path));
    if (++faults === FAULTS_MAX) return 'hopeless';
  }
  for (const { parent, key, known } of form.unknown(value, '')) {
    const rule = parent === '' ? contract.unknownKeys : ownerOf(owners, parent);
    const level = context.strict ? 'must' : 'should';
    const meant = context.strict ? nearestWord(key, known.keys()) : undefined;
    const message = meant === undefined ? UNKNOWN_KEY : `${UNKNOWN_KEY} (did you mean ${JSON.stringify(meant)}?)`;
    found.add(level, violation(rule, placeOf(parent, key), message));
  }
  return touched;
}

export class FindingCollector {
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

/** Orders by rule number (RN2 before RN10), path and message, by UTF-16 code unit. */
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

/** A contract, compiled for checking. */
interface Plan {
  readonly form: CompiledShape;
  /** The rule that a value breaks if it is not an object. */
  readonly first: string;
  readonly owners: Owners;
  readonly parts: readonly (RulePart & { readonly rule: string })[];
}

/** The rule that owns each key, longest key first. */
type Owners = readonly { readonly field: string; readonly rule: string }[];

const planByContract = new WeakMap<Contract, Plan>();

function planOf(contract: Contract): Plan {
  let plan = planByContract.get(contract);
  if (!plan) {
    const owners = contract.rules
      .flatMap(rule => rule.fields.map(field => ({ field, rule: rule.id })))
      .sort((a, b) => b.field.length - a.field.length);
    const first = (contract.rules[0] as Rule).id;
    plan = { form: formOf(contract.shape), first, owners, parts: contract.rules.flatMap(partsOf) };
    planByContract.set(contract, plan);
  }
  return plan;
}

/** A rule's check becomes a part that covers all keys that the rule owns or reads. */
function partsOf({ id, check, fields, reads = [], parts = [] }: Rule): (RulePart & { rule: string })[] {
  const whole = check ? [{ over: [...fields, ...reads], check }] : [];
  return [...whole, ...parts].map(part => Object.assign({ rule: id }, part));
}

function ownerOf(owners: Owners, path: string): string {
  const plain = withoutIndices(path);
  const owner = owners.find(({ field }) => isWithin(plain, field));
  if (!owner) throw new Error(`No rule owns ${plain}.`);
  return owner.rule;
}

/** Whether a key that a check needs, or a key around or inside it, is malformed. */
function isTouched(over: readonly string[], shallow: true | undefined, touched: ReadonlySet<string>): boolean {
  for (const path of touched) {
    if (over.some(field => isWithin(field, path) || (!shallow && isWithin(path, field)))) return true;
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
