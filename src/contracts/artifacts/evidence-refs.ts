import { type Finding, must } from '../rule.ts';
import type { EvidenceRef } from './case-shape.ts';
import { type Event, eventsOf } from './events.ts';

/** Which key names the evidence, by its kind. */
const IDENTIFIER = { tool_result: 'call_id', retrieval_doc: 'doc_id', event: 'id', asset: 'id' } as const;

/** Everything in a list of events that evidence can point to, by kind. */
export function identifiersIn(
  events: readonly Event[],
): Record<'tool_result' | 'retrieval_doc' | 'event', ReadonlySet<unknown>> {
  const results = [...eventsOf('tool_call', events), ...eventsOf('tool_result', events)];
  return {
    tool_result: new Set(results.map(([, { call_id }]) => call_id)),
    retrieval_doc: new Set([...eventsOf('retrieval', events)].flatMap(([, { doc_ids }]) => doc_ids)),
    event: new Set(events.flatMap((event, index) => [`events[${index}]`, event['id']])),
  };
}

export function* refFindings(
  ref: EvidenceRef,
  at: string,
  known: ReturnType<typeof identifiersIn>,
): Generator<Finding> {
  const { kind } = ref;
  const identifier = IDENTIFIER[kind];
  for (const key of ['call_id', 'doc_id', 'id'] as const) {
    if (key !== identifier && ref[key] !== undefined) {
      yield must(`${at}.${key}`, `does not belong to evidence of kind "${kind}"`);
    }
  }
  const id = ref[identifier];
  if (id === undefined) yield must(`${at}.${identifier}`, `is missing, and names evidence of kind "${kind}"`);
  // Assets are not in the document: those with an href become claims, the rest only the folder can resolve.
  else if (kind !== 'asset' && !known[kind].has(id)) yield must(`${at}.${identifier}`, 'is found in no event');
}
