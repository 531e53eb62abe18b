import { didYouMean } from '../../base/nearest.ts';
import { placeOf } from '../../base/place.ts';
import { type ActionRule, type EventRule, KNOWN_EVENT_TYPES, type ValueForm } from '../../contracts/target/mapping.ts';
import { DocumentOrder } from './document-order.ts';
import { MappingError, pathAt } from './mapping-error.ts';
import type { MappingRun, ReadValue } from './mapping-run.ts';
import { type CompiledPath, type NodePlace, selectPlaced } from './path.ts';
import type { ValueCompiler } from './value.ts';

/** A rule that makes one record of each item. */
export interface CompiledRule {
  readonly place: string;
  readonly each: CompiledPath;
  readonly type: string | undefined;
  readonly keys: readonly { readonly name: string; readonly place: string; readonly read: ReadValue }[];
}

export function compileRule(rule: EventRule | ActionRule, place: string, values: ValueCompiler): CompiledRule {
  const { each, as, ...forms } = rule as ActionRule & { readonly as?: string };
  if (as !== undefined) checkType(as, placeOf(place, 'as'));
  const entries = Object.entries(forms as Record<string, ValueForm | undefined>);
  if (entries.length > KEYS_MAX) throw new MappingError(place, `A rule has at most ${KEYS_MAX} keys.`);
  return {
    place,
    each: pathAt(placeOf(place, 'each'), each, '$'),
    type: as,
    keys: entries.flatMap(([name, form]) => {
      if (form === undefined) return [];
      const at = placeOf(place, name);
      if (RESERVED.has(name)) throw new MappingError(at, `An event cannot have the key "${name}".`);
      return [{ name, place: at, read: values.compile(form, at, true) }];
    }),
  };
}

const KEYS_MAX = 50;
const RESERVED: ReadonlySet<string> = new Set(['type', '__proto__']);

/** Any type is allowed, but almost a known one is a typo. */
function checkType(type: string, place: string): void {
  const isKnown = (KNOWN_EVENT_TYPES as readonly string[]).includes(type);
  const near = isKnown ? '' : didYouMean(type, KNOWN_EVENT_TYPES);
  if (near !== '') throw new MappingError(place, `This is not a known event type.${near}`);
}

/** The records of all rules, in the order in which their items appear in the document. */
export function applyRules(
  rules: readonly CompiledRule[],
  run: MappingRun,
  empty: string[],
): Record<string, unknown>[] {
  const matches: Match[] = [];
  let matching = 0;
  for (const rule of rules) {
    const { values, places } = selectPlaced(rule.each, run.document, run.budget);
    if (values.length > 0) matching++;
    else empty.push(rule.place);
    for (const [index, item] of values.entries()) matches.push({ rule, item, place: places[index] });
  }
  const order = new DocumentOrder();
  // The sort is stable, so rules that match the same item keep their order.
  if (matching > 1) matches.sort((left, right) => order.compare(left.place, right.place));
  const found = new Set<string>();
  const records = matches.map(match => recordOf(match, run, found));
  for (const rule of new Set(matches.map(match => match.rule))) {
    for (const { place } of rule.keys) if (!found.has(place)) empty.push(place);
  }
  return records;
}

interface Match {
  readonly rule: CompiledRule;
  readonly item: unknown;
  readonly place: NodePlace | undefined;
}

function recordOf({ rule, item }: Match, run: MappingRun, found: Set<string>): Record<string, unknown> {
  const record: Record<string, unknown> = rule.type === undefined ? {} : { type: rule.type };
  for (const { name, place, read } of rule.keys) {
    const value = read(run, item);
    if (value === undefined) continue;
    record[name] = value;
    found.add(place);
  }
  return record;
}
