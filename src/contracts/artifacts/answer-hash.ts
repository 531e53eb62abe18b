import { bytesHash } from '../../base/hash.ts';
import type { CaseArtifact } from './index.ts';

/**
 * A hash over output, events and proposed actions, without ids and times. Equal hashes mean equal answers. Undefined
 * if there is no answer, if a part has no hash, or for an agent program, because its effects go beyond its answer.
 */
export function hashOfAnswer({ final_output, events = [], proposed_actions = [], agent_run }: CaseArtifact) {
  if (!final_output || agent_run || events.some(isElsewhere)) return undefined;
  const names = new Map<unknown, string>();
  const named = (id: unknown): string => {
    const name = names.get(id) ?? `#${names.size}`;
    names.set(id, name);
    return name;
  };
  // Artifacts are stored in canonical form, so equal answers have their keys in the same order.
  const text = JSON.stringify([
    final_output.content_type,
    final_output.content,
    events.map(event => withoutTimes(event, named)),
    proposed_actions.map(({ evidence_refs, ...action }) => [
      withoutTimes(action, named),
      evidence_refs.map(ref => withoutTimes(ref, named)),
    ]),
  ]);
  return bytesHash(text);
}

/** The content of a file without a hash is unknown here. */
function isElsewhere(event: object): boolean {
  return 'snippets_asset_href' in event || ('payload_asset_href' in event && !('payload_asset_sha256' in event));
}

/** Drops times, and replaces each id with the order of its first appearance, which keeps references intact. */
function withoutTimes(values: object, named: (id: unknown) => string): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    if (TIMES.has(key)) continue;
    kept[key] = IDS.has(key) ? named(value) : value;
  }
  return kept;
}

const TIMES: ReadonlySet<string> = new Set(['ts', 'latency_ms', 'payload_asset_href']);
const IDS: ReadonlySet<string> = new Set(['id', 'call_id', 'action_id']);
