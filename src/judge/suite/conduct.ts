import { eventsOf } from '../../contracts/artifacts/index.ts';
import { all, fails, holds, type Judge } from './judgement.ts';
import { quoting } from './sentence.ts';

export const toolRequired: Judge<'tool_required'> = (expected, { calls }) =>
  all(expected).map(tool => {
    const call = calls.find(call => call.tool === tool);
    if (call) return holds(eventAt(call.index));
    return fails(
      quoting(tool, quoted => `The tool ${quoted} was not called.`),
      null,
    );
  });

export const toolForbidden: Judge<'tool_forbidden'> = (expected, { calls }) =>
  all(expected).map(tool => {
    const call = calls.find(call => call.tool === tool);
    if (!call) return holds(null);
    return fails(
      quoting(tool, quoted => `The tool ${quoted} was called.`),
      eventAt(call.index),
    );
  });

/** The tools were called in this order, possibly with others in between. */
export const toolSequence: Judge<'tool_sequence'> = (expected, { calls }) => {
  let from = 0;
  let at: string | null = null;
  for (const [index, tool] of all(expected).entries()) {
    const found = calls.findIndex((call, position) => position >= from && call.tool === tool);
    if (found < 0) {
      const when = index === 0 ? '' : ' after the tools that precede it in the sequence';
      const message = quoting(tool, quoted => `The tool ${quoted} was not called${when}.`);
      return [fails(message, at)];
    }
    at = eventAt(calls[found]?.index ?? 0);
    from = found + 1;
  }
  return [holds(at)];
};

export const actionRequired: Judge<'action_required'> = (expected, { artifact: { proposed_actions = [] } }) =>
  all(expected).map(type => {
    const index = proposed_actions.findIndex(({ action_type }) => action_type === type);
    if (index >= 0) return holds(`proposed_actions[${index}]`);
    return fails(
      quoting(type, quoted => `The action ${quoted} was not proposed.`),
      null,
    );
  });

/** Every action whose risk is not low must name evidence, and every cited result must exist. */
export const evidenceRequired: Judge<'evidence_required_for_actions'> = (isRequired, { artifact }) => {
  if (!isRequired) return [];
  const { proposed_actions = [], events = [] } = artifact;
  const answered = new Set(eventsOf('tool_result', events).map(([, { call_id }]) => call_id));
  for (const [index, { action_type, risk_level, evidence_refs }] of proposed_actions.entries()) {
    if (risk_level === 'low') continue;
    const at = `proposed_actions[${index}]`;
    if (evidence_refs.length === 0) {
      const message = quoting(
        action_type,
        quoted => `The action ${quoted} names no evidence, and its risk is not low.`,
      );
      return [fails(message, at)];
    }
    // An artifact can cite any call id. A call without a result proves nothing.
    const bare = evidence_refs.findIndex(ref => ref.kind === 'tool_result' && !answered.has(ref.call_id ?? ''));
    if (bare >= 0) {
      const message = quoting(action_type, quoted => `The action ${quoted} cites the result of a call that has none.`);
      return [fails(message, at)];
    }
  }
  return [holds(null)];
};

export const retrievalRequired: Judge<'retrieval_required'> = ({ doc_ids }, { artifact: { events = [] } }) => {
  const retrieved = new Map<string, number>();
  for (const [index, retrieval] of eventsOf('retrieval', events)) {
    for (const id of retrieval.doc_ids) if (!retrieved.has(id)) retrieved.set(id, index);
  }
  return doc_ids.map(id => {
    const index = retrieved.get(id);
    if (index !== undefined) return holds(eventAt(index));
    return fails(
      quoting(id, quoted => `The document ${quoted} was not retrieved.`),
      null,
    );
  });
};

function eventAt(index: number): string {
  return `events[${index}]`;
}
