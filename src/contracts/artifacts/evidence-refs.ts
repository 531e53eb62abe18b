import { type Finding, must } from '../rule.ts';
import type { EvidenceRef } from './case-shape.ts';
import { type Event, eventsOf } from './events.ts';

/** The identifying key of each kind of evidence. */
const IDENTIFIER = { tool_result: 'call_id', retrieval_doc: 'doc_id', event: 'id', asset: 'id' } as const;

/** The identifiers in a list of events that evidence can refer to, by kind. */
export function identifiersIn(
  events: readonly Event[],
): Record<'tool_result' | 'retrieval_doc' | 'event', ReadonlySet<unknown>> {
  const results = [...eventsOf('tool_call', events), ...eventsOf('tool_result', events)];
  return {
    tool_result: new Set(results.map(([, { call_id }]) => call_id)),
    retrieval_doc: new Set(eventsOf('retrieval', events).flatMap(([, { doc_ids }]) => doc_ids)),
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
      yield must(`${at}.${key}`, `must be absent from evidence of kind "${kind}"`);
    }
  }
  const id = ref[identifier];
  if (id === undefined) yield must(`${at}.${identifier}`, `is missing from evidence of kind "${kind}"`);
  // Assets are outside the document: hrefs become claims, and other ids can be checked only with the folder.
  else if (kind !== 'asset' && !known[kind].has(id)) yield must(`${at}.${identifier}`, 'does not occur in any event');
}
