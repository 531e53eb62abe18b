import { canonicalize } from '../base/canonical.ts';
import { bytesHash } from '../base/hash.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { storesReplies, type SuiteReply, type SuiteRequest } from '../contracts/suite/index.ts';
import { MappingError } from './mapping/mapping-error.ts';
import { type ReplyReader, replyReader } from './reader.ts';
import { mismatch } from './reply.ts';
import { responseOf } from './response.ts';

/** What a case states about its answer, or what follows from its reply. Small, because a run has many. */
export interface ProvenAnswer {
  /** The hash of everything in the artifact that comes from the reply. */
  readonly response: string;
  readonly reply: string | undefined;
  readonly ttftMs: number | undefined;
  readonly repairs: string;
}

/** Returns what follows from a stored reply. */
export type ReplyProof = (reply: SuiteReply, body: Buffer) => ProvenAnswer;

/** Reads replies again as the run did. Undefined if the run stores no replies. */
export function replyProof({
  target,
  settings,
  version: side,
}: Pick<SuiteRequest, 'target' | 'settings' | 'version'>): ReplyProof | undefined {
  if (!storesReplies(target)) return undefined;
  const read = readerFor(target, settings.max_body_bytes);
  const inlineBytesMax = settings.max_payload_inline_bytes;
  return ({ case_id: id, frame_ms, sha256: reply }, body) => {
    const reading = read({ body, ...(frame_ms && { frameMs: frame_ms }) }, { caseId: id, side });
    if (!reading.ok) return { response: 'none', reply, ttftMs: undefined, repairs: '{}' };
    const { response } = responseOf(reading.reply, { id, bytes: body.length, masked: {}, inlineBytesMax });
    return { response: responseHash(response), reply, ttftMs: reading.ttftMs, repairs: canonicalize(reading.repairs) };
  };
}

export function statedAnswer(artifact: CaseArtifact): ProvenAnswer {
  const { ttft_ms, repairs = {}, reply_sha256 } = artifact.attempts?.at(-1) ?? {};
  return { response: responseHash(artifact), reply: reply_sha256, ttftMs: ttft_ms, repairs: canonicalize(repairs) };
}

/** How a case differs from what follows from its reply. */
export function* answerDifferences(
  stated: ProvenAnswer,
  proven: ProvenAnswer,
): Generator<readonly [at: string, message: string]> {
  if (stated.reply !== proven.reply) yield ['attempts', 'state the hash of another reply'];
  if (stated.response !== proven.response)
    yield ['final_output', 'or another part of the answer does not follow from the stored reply'];
  if (stated.ttftMs !== proven.ttftMs)
    yield ['attempts', 'state a time to the first output that does not follow from the stored reply'];
  if (stated.repairs !== proven.repairs) yield ['attempts', 'state repairs that do not follow from the stored reply'];
}

/** A mapping that does not compile reads nothing, so no case follows from its reply. */
function readerFor(target: SuiteRequest['target'], bytesMax: number): ReplyReader {
  try {
    return replyReader(target, bytesMax);
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    return () => mismatch('The mapping of the target is not valid.');
  }
}

/** The notes on masking come from the attempt, not from the reply. */
function responseHash({
  workflow_id,
  proposed_actions,
  events,
  final_output,
  agent_fields,
}: Pick<CaseArtifact, 'workflow_id' | 'proposed_actions' | 'events' | 'final_output' | 'agent_fields'>): string {
  const { redactions_applied: _, ...output } = final_output ?? {};
  const text = canonicalize({
    workflow_id: workflow_id ?? null,
    proposed_actions,
    events,
    output,
    agent_fields: agent_fields ?? null,
  });
  return bytesHash(text);
}
