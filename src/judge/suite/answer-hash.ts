import { bytesHash } from '../../base/hash.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';

/**
 * A hash that two answers share only if they are the same but for ids and times: output, events and proposed actions.
 * Undefined where there is no answer, where a part of it has no hash, and for an agent's program, whose work is more than
 * what it says.
 */
export function hashOfAnswer({ final_output, events = [], proposed_actions = [], agent_run }: CaseArtifact) {
  if (!final_output || agent_run || events.some(isElsewhere)) return undefined;
  const names = new Map<unknown, string>();
  const named = (id: unknown): string => {
    const name = names.get(id) ?? `#${names.size}`;
    names.set(id, name);
    return name;
  };
  // Artifacts are stored in canonical form, so the same answer has its keys in the same order.
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

/** What is said in a file without a hash is not known here. */
function isElsewhere(event: object): boolean {
  return 'snippets_asset_href' in event || ('payload_asset_href' in event && !('payload_asset_sha256' in event));
}

/** Ids become the order in which they first appear, so that what refers to what still counts. */
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
