import * as z from 'zod/mini';
import type { Claim } from '../claim.ts';
import { anyObject, contentHashText, count, filledText, isoTime, record } from '../shape.ts';
import { agentRunShape } from './agent-run.ts';
import { event, eventsOf, outputKeys, riskLevel } from './events.ts';
import { contentHashOf } from './content-hash.ts';
import { caseId, errorClass, milliseconds, side, targetUrl } from './words.ts';

const outcome = () => z.enum(['ok', 'runner_error']);

const attempt = record({
  attempt: count(),
  started_at: isoTime(),
  latency_ms: z.optional(milliseconds()),
  outcome: outcome(),
  error_class: z.optional(errorClass()),
  /** Lets the agent recognize a retry. */
  idempotency_key: z.optional(filledText()),
  http_status: z.optional(z.int().check(z.gte(100), z.lte(999))),
  /** The run that answered, if the target is a script or an agent. */
  run_id: z.optional(filledText()),
  note: z.optional(z.string()),
  /** Time to the first output, for a streamed reply. */
  ttft_ms: z.optional(milliseconds()),
  /** How often each repair of a lenient reading was applied. */
  repairs: z.optional(z.record(z.string(), count())),
  /** The hash of the stored reply in assets/replies.ndjson. */
  reply_sha256: z.optional(contentHashText()),
  /** The worker that made the attempt, if it was not the process that ran the suite. */
  worker: z.optional(filledText()),
  /** The hash of the outcome that this worker signed: a line of assets/outcomes.ndjson, without its line feed. */
  outcome_sha256: z.optional(contentHashText()),
  /** The number of masked ranges in the answer, by kind. */
  masked: z.optional(z.record(z.string(), count())),
  full_body_saved_to: z.optional(z.string()),
  full_body_meta_saved_to: z.optional(z.string()),
});

const evidenceRef = record({
  kind: z.enum(['tool_result', 'retrieval_doc', 'event', 'asset']),
  call_id: z.optional(filledText()),
  doc_id: z.optional(filledText()),
  id: z.optional(filledText()),
});

const proposedAction = record({
  action_id: filledText(),
  action_type: filledText(),
  tool_name: filledText(),
  params: anyObject(),
  risk_level: riskLevel(),
  risk_tags: z.array(z.string()),
  evidence_refs: z.array(evidenceRef),
});

const runnerFailure = record({
  class: errorClass(),
  url: targetUrl(),
  // 0 if the case was abandoned before its first attempt.
  attempt: count(),
  timeout_ms: z.optional(milliseconds()),
  latency_ms: z.optional(milliseconds()),
  status: z.optional(z.int().check(z.gte(100), z.lte(999))),
  status_text: z.optional(z.string()),
  error_name: z.optional(z.string()),
  error_message: z.optional(z.string()),
  body_snippet: z.nullable(z.string()),
  full_body_saved_to: z.nullable(z.string()),
  full_body_meta_saved_to: z.optional(z.nullable(z.string())),
});

/** Covers both variants; AA11 says which keys belong to which. */
export const caseShape = record({
  schema_version: z.literal('case.v1'),
  case_id: caseId(),
  version: side(),
  status: outcome(),
  workflow_id: z.optional(z.string()),
  attempts: z.optional(z.array(attempt)),
  proposed_actions: z.optional(z.array(proposedAction)),
  events: z.optional(z.array(event)),
  final_output: z.optional(
    record({
      ...outputKeys,
      output_hash: z.optional(z.string()),
      redactions_applied: z.optional(z.array(z.string())),
    }),
  ),
  runner_failure: z.optional(runnerFailure),
  /** The parts of the answer that the contract does not define, by location. Proctor does not interpret them. */
  agent_fields: z.optional(anyObject()),
  /** What Proctor observed about the agent's run. Present only if the target is an agent. */
  agent_run: z.optional(agentRunShape),
});

export type CaseArtifact = z.infer<typeof caseShape>;

export type EvidenceRef = z.infer<typeof evidenceRef>;

type Links = Pick<CaseArtifact, 'attempts' | 'events' | 'proposed_actions' | 'runner_failure'>;

/** The claims about files in assets/. */
export function* claimsOf(document: Links): Generator<Claim> {
  for (const { at, id } of assetIdsIn(document)) if (!isHref(id)) yield { at, asset: id };
  for (const { at, href, digest } of hrefsIn(document)) {
    yield digest === undefined ? { at, file: href } : { at, file: href, sha256: contentHashOf(digest) };
  }
}

/** Every link into assets/, with its digest as written, if any. */
export function hrefsIn(document: Links): Href[] {
  const { attempts = [], events = [], runner_failure } = document;
  const hrefs: Href[] = [];
  for (const { at, id } of assetIdsIn(document)) if (isHref(id)) hrefs.push({ at, href: id });
  for (const [index, { payload_asset_href: href, payload_asset_sha256: digest }] of eventsOf('tool_result', events)) {
    if (href !== undefined) hrefs.push({ at: `events[${index}].payload_asset_href`, href, digest });
  }
  for (const [index, { snippets_asset_href: href }] of eventsOf('retrieval', events)) {
    if (href !== undefined) hrefs.push({ at: `events[${index}].snippets_asset_href`, href });
  }
  for (const key of BODY_LINKS) {
    const href = runner_failure?.[key];
    if (typeof href === 'string') hrefs.push({ at: `runner_failure.${key}`, href });
    attempts.forEach(({ [key]: body }, index) => {
      if (body !== undefined) hrefs.push({ at: `attempts[${index}].${key}`, href: body });
    });
  }
  return hrefs;
}

const BODY_LINKS = ['full_body_saved_to', 'full_body_meta_saved_to'] as const;

function assetIdsIn({ proposed_actions = [] }: Links): { readonly at: string; readonly id: string }[] {
  return proposed_actions.flatMap(({ evidence_refs }, action) =>
    evidence_refs.flatMap(({ kind, id }, ref) =>
      kind === 'asset' && id !== undefined ? [{ at: `proposed_actions[${action}].evidence_refs[${ref}].id`, id }] : [],
    ),
  );
}

/** Evidence refers to an asset by its href, or by an id that only the assets manifest can resolve. */
function isHref(id: string): boolean {
  return /[/\\]/.test(id);
}

interface Href {
  readonly at: string;
  readonly href: string;
  readonly digest?: string | undefined;
}
