import type { TargetDeclaration } from '../contracts/target/index.ts';
import type { ReplyMapping } from '../contracts/target/mapping.ts';
import { replyFormOf } from './kinds/kinds.ts';
import { documentOf, type KeptReply } from './mapped-reader.ts';
import { applyMapping, compileMapping } from './mapping/mapping.ts';

/** One key of a mapping: how it is written, and whether it found something in a reply. */
export interface MappedPlace {
  /** Such as `events[0].call_id`. */
  readonly place: string;
  readonly form: string;
  readonly isFound: boolean;
}

/** What the keys of a target's mapping found in a reply. Empty if the reply cannot be read, or needs no mapping. */
export function mappedPlaces(declaration: TargetDeclaration, kept: KeptReply, bytesMax: number): MappedPlace[] {
  const form = replyFormOf(declaration);
  const document = form && documentOf(kept, form.as, bytesMax);
  if (!form || !document?.ok) return [];
  const mapped = applyMapping(compileMapping(form.mapping), document.value);
  if (!mapped.ok) return [];
  const empty = new Set(mapped.empty);
  return [...placesIn(form.mapping)].map(([place, written]) => ({
    place,
    form: typeof written === 'string' ? written : JSON.stringify(written),
    isFound: !empty.has(place),
  }));
}

/** A reply without a failure is the rule, so `failed` finding nothing means nothing. */
function* placesIn({
  events = [],
  proposed_actions = [],
  usage = {},
  failed: _failed,
  ...single
}: ReplyMapping): Generator<[string, unknown]> {
  for (const [key, form] of Object.entries(single)) yield [key, form];
  for (const [key, form] of Object.entries(usage)) yield [`usage.${key}`, form];
  const lists = { events, proposed_actions };
  for (const [list, rules] of Object.entries(lists)) {
    for (const [index, rule] of rules.entries()) {
      for (const [key, form] of Object.entries(rule)) if (key !== 'as') yield [`${list}[${index}].${key}`, form];
    }
  }
}
