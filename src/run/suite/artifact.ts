import { isUtf8 } from 'node:buffer';
import type { AgentReply, SideName } from '../../adapters/http-agent.ts';
import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { bytesHash } from '../../base/hash.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import type { Attempt } from '../../evidence/suite/suite-run.ts';
import type { SuiteSettings } from './settings.ts';
import type { Answered, Body, FailedAttempt, AttemptResult } from './target.ts';

export interface ArtifactIdentity {
  readonly id: string;
  readonly side: SideName;
  readonly url: string;
  readonly settings: SuiteSettings;
}

export interface KeptArtifact {
  readonly artifact: CaseArtifact;
  readonly assets: readonly Asset[];
}

export function answeredCase(
  { id, side, settings }: ArtifactIdentity,
  attempts: Attempt[],
  answered: Answered,
  { agentRun }: Pick<AttemptResult, 'agentRun'> = {},
): KeptArtifact {
  const { workflow_id, proposed_actions, final_output } = answered.reply;
  const { events, fields, assets } =
    answered.bytes <= settings.payloadInlineBytesMax
      ? { events: answered.reply.events, fields: answered.reply.agent_fields, assets: [] }
      : withoutLarge(answered.reply, id, settings.payloadInlineBytesMax);
  return {
    artifact: {
      schema_version: 'case.v1',
      case_id: id,
      version: side,
      status: 'ok',
      ...(workflow_id !== undefined && { workflow_id }),
      attempts,
      proposed_actions,
      events,
      final_output: {
        ...final_output,
        output_hash: outputHash(final_output.content),
        redactions_applied: Object.keys(answered.masked),
      },
      ...(fields && { agent_fields: fields }),
      ...(agentRun && { agent_run: agentRun }),
    },
    assets,
  };
}

/** Short, for quick comparisons. */
function outputHash(content: unknown): string {
  const text = typeof content === 'string' ? content : canonicalize(content);
  return bytesHash(text).slice('sha256:'.length, 'sha256:'.length + 16);
}

/** Builds the artifact of a case without an answer. The files of its last attempt are already stored. */
export function failedCase(
  { id, side, url, settings }: ArtifactIdentity,
  attempts: Attempt[],
  failed: FailedAttempt,
  told?: AttemptResult,
): CaseArtifact {
  const last = attempts.at(-1);
  const { body } = failed;
  return {
    schema_version: 'case.v1',
    case_id: id,
    version: side,
    status: 'runner_error',
    attempts,
    runner_failure: {
      class: failed.class,
      url,
      attempt: attempts.length,
      timeout_ms: settings.timeoutMs,
      ...(told && { latency_ms: told.latencyMs }),
      ...(told?.httpStatus !== undefined && { status: told.httpStatus }),
      ...(failed.statusText !== undefined && { status_text: failed.statusText }),
      ...(failed.errorName !== undefined && { error_name: failed.errorName }),
      error_message: failed.message,
      body_snippet: body ? clip(body.bytes.toString(), settings.snippetBytesMax).text : null,
      full_body_saved_to: (body && last?.full_body_saved_to) ?? null,
      full_body_meta_saved_to: (body && last?.full_body_meta_saved_to) ?? null,
    },
    ...(told?.agentRun && { agent_run: told.agentRun }),
  };
}

/** The body of a failed attempt, and its metadata. */
export function bodyAssets(
  { id, side }: Pick<ArtifactIdentity, 'id' | 'side'>,
  attempt: number,
  failed: FailedAttempt,
  body: Body,
): readonly [Asset, Asset] {
  const href = `assets/${id}.${attempt}.body`;
  const meta = {
    schema_version: 'failure-meta.v1',
    case_id: id,
    version: side,
    class: failed.class,
    content_type: body.contentType,
    encoding: isUtf8(body.bytes) ? 'utf-8' : null,
    bytes_written: body.bytes.length,
    bytes_total:
      body.bytesTotal !== null && body.truncated && body.bytesTotal <= body.bytes.length ? null : body.bytesTotal,
    truncated: body.truncated,
    sha256: bytesHash(body.bytes),
    headers: body.headers,
    note: failed.message,
  };
  return [
    { href, kind: 'full_body', caseId: id, bytes: body.bytes },
    { href: `assets/${id}.${attempt}.meta.json`, kind: 'failure_meta', caseId: id, bytes: canonicalize(meta) },
  ];
}

/** Moves large values into separate files. The artifact keeps their beginning and their hash. */
function withoutLarge({ events, agent_fields: fields }: AgentReply, id: string, bytesMax: number) {
  const assets: Asset[] = [];
  const taken = new Set<string>();
  const store = (index: number, kind: Asset['kind'], ending: string, value: unknown): Asset | undefined => {
    if (value === undefined) return undefined;
    const bytes = typeof value === 'string' ? value : canonicalize(value);
    if (Buffer.byteLength(bytes) <= bytesMax) return undefined;
    const asset: Asset = { href: `assets/${id}.event-${index}.${ending}`, kind, caseId: id, bytes };
    assets.push(asset);
    return asset;
  };
  /** Agents report whole payloads and snippets under keys that are not part of the contract. */
  const beside = (index: number, kind: Asset['kind'], key: string): Asset | undefined => {
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
      ...(summary && { payload_summary: `${clip(String(summary.bytes), SUMMARY_BYTES).text} […]` }),
      payload_asset_href: asset.href,
      payload_asset_sha256: bytesHash(asset.bytes),
    };
  });
  const left = fields && Object.entries(fields).filter(([place]) => !taken.has(place));
  return { events: slim, fields: left && left.length > 0 ? Object.fromEntries(left) : undefined, assets };
}

const SUMMARY_BYTES = 1_000;
