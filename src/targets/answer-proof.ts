import { canonicalize } from '../base/canonical.ts';
import { bytesHash } from '../base/hash.ts';
import { hashOfAnswer } from '../contracts/artifacts/answer-hash.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { storesReplies, type SuiteReply, type SuiteRequest } from '../contracts/suite/index.ts';
import { MappingError } from './mapping/mapping-error.ts';
import { type ReplyReader, replyReader } from './reader.ts';
import { mismatch } from './reply.ts';
import { type CaseResponse, responseOf } from './response.ts';

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

/** Returns hashes of the answer in a stored reply, to compare two attempts. */
export type ReplyComparison = (reply: SuiteReply, body: Buffer) => ComparedAnswer;

export interface ComparedAnswer {
  /** Covers everything that comes from the reply. */
  readonly response: string;
  /** Leaves out ids and times, which differ between any two attempts. */
  readonly answer: string;
}

export const NO_ANSWER: ComparedAnswer = { response: 'none', answer: 'none' };

/** Undefined if the run stores no replies. */
export function replyProof(request: AskingRequest): ReplyProof | undefined {
  const read = responseReader(request);
  return (
    read &&
    ((reply, body) => {
      const { sha256 } = reply;
      const reading = read(reply, body);
      if (!reading) return { response: 'none', reply: sha256, ttftMs: undefined, repairs: '{}' };
      const { response, ttftMs, repairs } = reading;
      return { response: responseHash(response), reply: sha256, ttftMs, repairs: canonicalize(repairs) };
    })
  );
}

/** Undefined if the run stores no replies. */
export function replyComparison(request: AskingRequest): ReplyComparison | undefined {
  const read = responseReader(request);
  return (
    read &&
    ((reply, body) => {
      const reading = read(reply, body);
      return reading ? comparedAnswer(reading.response) : NO_ANSWER;
    })
  );
}

export function comparedAnswer(response: CaseResponse): ComparedAnswer {
  const { proposed_actions, events, final_output } = response;
  // An artifact has its keys in canonical order, and a reply has them in that of the agent.
  const ordered = JSON.parse(canonicalize({ proposed_actions, events, final_output })) as CaseArtifact;
  const hash = responseHash(response);
  return { response: hash, answer: hashOfAnswer(ordered) ?? hash };
}

type AskingRequest = Pick<SuiteRequest, 'target' | 'settings' | 'version'>;

/** Reads replies again as the run did. */
function responseReader({ target, settings, version: side }: AskingRequest) {
  if (!storesReplies(target)) return undefined;
  const read = readerFor(target, settings.max_body_bytes);
  const inlineBytesMax = settings.max_payload_inline_bytes;
  return ({ case_id: id, frame_ms }: SuiteReply, body: Buffer) => {
    const reading = read({ body, ...(frame_ms && { frameMs: frame_ms }) }, { caseId: id, side });
    if (!reading.ok) return undefined;
    const { response } = responseOf(reading.reply, { id, bytes: body.length, masked: {}, inlineBytesMax });
    return { response, ttftMs: reading.ttftMs, repairs: reading.repairs };
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
function responseHash({ workflow_id, proposed_actions, events, final_output, agent_fields }: CaseResponse): string {
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
