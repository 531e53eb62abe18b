import { canonicalize } from '../base/canonical.ts';
import { clip } from '../base/clip.ts';
import { bytesHash } from '../base/hash.ts';
import type { MaskedKinds } from '../base/masker.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { AgentReply } from './reply.ts';

/** The keys of a case artifact that come from the reply. */
export type CaseResponse = Pick<
  CaseArtifact,
  'workflow_id' | 'proposed_actions' | 'events' | 'final_output' | 'agent_fields'
>;

/** A value of the reply that is stored as a file of its own. */
export interface LargeValue {
  readonly href: string;
  readonly kind: 'full_payload' | 'retrieval_snippets';
  readonly caseId: string;
  readonly bytes: string;
}

export interface ResponseContext {
  readonly id: string;
  /** Masked ranges by kind. */
  readonly masked: MaskedKinds;
  /** The size of the whole reply. No part of it is larger. */
  readonly bytes: number;
  readonly inlineBytesMax: number;
}

/** Turns a reply into keys of the case artifact. Pure, because the verifier repeats it. */
export function responseOf(
  reply: AgentReply,
  { id, bytes, masked, inlineBytesMax }: ResponseContext,
): { readonly response: CaseResponse; readonly assets: readonly LargeValue[] } {
  const { workflow_id, proposed_actions, final_output } = reply;
  const { events, fields, assets } =
    bytes <= inlineBytesMax
      ? { events: reply.events, fields: reply.agent_fields, assets: [] }
      : withoutLarge(reply, id, inlineBytesMax);
  const output = { ...final_output };
  output.output_hash = outputHash(final_output.content);
  output.redactions_applied = Object.keys(masked);
  const response: CaseResponse = { proposed_actions, events, final_output: output };
  if (workflow_id !== undefined) response.workflow_id = workflow_id;
  if (fields) response.agent_fields = fields;
  return { response, assets };
}

/** Short, for quick comparisons. */
function outputHash(content: unknown): string {
  const text = typeof content === 'string' ? content : canonicalize(content);
  return bytesHash(text).slice('sha256:'.length, 'sha256:'.length + 16);
}

/** Moves large values into separate files. The artifact keeps their beginning and their hash. */
function withoutLarge({ events, agent_fields: fields }: AgentReply, id: string, bytesMax: number) {
  const assets: LargeValue[] = [];
  const taken = new Set<string>();
  const store = (index: number, kind: LargeValue['kind'], ending: string, value: unknown): LargeValue | undefined => {
    if (value === undefined) return undefined;
    const bytes = typeof value === 'string' ? value : canonicalize(value);
    if (Buffer.byteLength(bytes) <= bytesMax) return undefined;
    const asset: LargeValue = { href: `assets/${id}.event-${index}.${ending}`, kind, caseId: id, bytes };
    assets.push(asset);
    return asset;
  };
  /** Agents report whole payloads and snippets under keys that are not part of the contract. */
  const beside = (index: number, kind: LargeValue['kind'], key: string): LargeValue | undefined => {
    const place = `events[${index}].${key}`;
    const asset = fields && Object.hasOwn(fields, place) ? store(index, kind, key, fields[place]) : undefined;
    if (asset) taken.add(place);
    return asset;
  };
  const slim = events.map((event, index): AgentReply['events'][number] => {
    if (event.type === 'retrieval') {
      const asset = beside(index, 'retrieval_snippets', 'snippets');
      return asset ? { ...event, snippets_asset_href: asset.href } : event;
    }
    if (event.type !== 'tool_result') return event;
    const summary = store(index, 'full_payload', 'payload_summary', event['payload_summary']);
    const asset = beside(index, 'full_payload', 'payload') ?? summary;
    if (!asset) return event;
    return {
      ...event,
      ...(summary && { payload_summary: `${clip(summary.bytes, SUMMARY_BYTES).text} […]` }),
      payload_asset_href: asset.href,
      payload_asset_sha256: bytesHash(asset.bytes),
    };
  });
  const left = fields && Object.entries(fields).filter(([place]) => !taken.has(place));
  return { events: slim, fields: left && left.length > 0 ? Object.fromEntries(left) : undefined, assets };
}

const SUMMARY_BYTES = 1_000;
