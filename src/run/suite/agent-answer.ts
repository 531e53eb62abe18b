import { readReply, type SideName } from '../../targets/reply.ts';
import { clip } from '../../base/clip.ts';
import { readJson } from '../../base/json.ts';
import { addedKinds, Masker, maskingOf } from '../../base/masker.ts';
import { printable } from '../../base/printable.ts';
import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import { NOT_OF_THE_AGENT, type Reason } from '../../contracts/agent-step/reading.ts';
import { isObject } from '../../contracts/kind.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import { type AgentFolder, readAgentFolder, transcriptLines } from '../../evidence/agent/agent-folder.ts';
import { AgentEvents } from './agent-events.ts';
import { agentRunNote, type RunFlag } from './agent-note.ts';
import type { SuiteSettings } from './settings.ts';
import { CANCELLED, type FailedAttempt, type AttemptResult } from './target.ts';

/** How to read the answer of an agent. */
export interface AgentAnswerReader {
  readonly side: SideName;
  readonly secrets: Readonly<Record<string, string>>;
  readonly keepCredentials?: boolean;
  readonly settings: Pick<SuiteSettings, 'bodyBytesMax'>;
  /** Compares what the agent says with what it did, given the folder of its sealed run. */
  readonly claimsIn: (folder: string) => Promise<readonly RunFlag[]>;
}

/**
 * Reads the answer to a case from the files of a sealed run. Undefined if they are incomplete. The result depends only on
 * the folder, so a conductor can read the run of a worker again.
 */
export async function agentAnswer(
  folder: string,
  one: SuiteCase,
  reader: AgentAnswerReader,
): Promise<Pick<AttemptResult, 'agentRun' | 'httpStatus' | 'outcome'> | undefined> {
  const run = readAgentFolder(folder);
  const { outcome, policy } = run;
  if (!outcome || !policy) return undefined;
  const masker = new Masker(maskingOf(Object.values(reader.secrets), reader.keepCredentials));
  const claims = await reader.claimsIn(folder);
  return {
    agentRun: agentRunNote(folder, { ...run, outcome, policy }, claims, text => masker.text(text)),
    outcome: judged(folder, run, outcome, one, reader),
    ...(outcome.api_status !== null && { httpStatus: outcome.api_status }),
  };
}

function judged(
  folder: string,
  { finalText }: AgentFolder,
  run: AgentOutcome,
  { id, expected }: SuiteCase,
  { side, secrets, keepCredentials, settings: { bodyBytesMax } }: AgentAnswerReader,
): AttemptResult['outcome'] {
  const { termination, reason, reported } = run;
  const { model } = run.agent;
  if (reason === 'cancelled') return CANCELLED;
  const said = Buffer.from(finalText ?? '');
  const body = { bytes: said, bytesTotal: said.length, truncated: false, contentType: null, headers: {} };
  const failed = (failure: Omit<FailedAttempt, 'ok' | 'body'>): FailedAttempt => ({
    ...failure,
    ok: false,
    ...(said.length > 0 && said.length <= bodyBytesMax && { body }),
  });
  const failure = failureOf(run);
  // A case can expect an unsuccessful ending, but not a model outage.
  const isItsOwn = termination !== 'error' || (failure.class === 'other' && !NOT_OF_THE_AGENT.has(reason));
  const isExpected = termination === expected?.termination && isItsOwn;
  if (termination !== 'completed' && !isExpected) return failed(failure);
  const events = new AgentEvents(bodyBytesMax / 2);
  for (const line of transcriptLines(folder)) events.take(line);
  const masker = new Masker(maskingOf(Object.values(secrets), keepCredentials));
  const raw = Buffer.from(
    JSON.stringify({
      ...(replyIn(said) ?? { final_output: { content_type: 'text', content: finalText ?? '' } }),
      events: events.list,
      usage: reported,
      ...(model !== null && { model }),
      ...(events.leftOut > 0 && { events_left_out: events.leftOut }),
    }),
  );
  const bytes = masker.whole(raw);
  const masked = addedKinds(masker.kinds, run.masking?.kinds);
  const answer = readReply(bytes, bodyBytesMax, { caseId: id, side, isLenient: false });
  return answer.ok ? { ...answer, masked, bytes: bytes.length } : failed({ ...answer, mayRetry: false });
}

/**
 * Parses a final text that is a reply in the HTTP agent format; undefined if it is not. Proctor still fills in the
 * events and the usage.
 */
function replyIn(said: Buffer): object | undefined {
  const reading = readJson(said, { bytesMax: said.length });
  return reading.ok && isObject(reading.value) && Object.hasOwn(reading.value, 'final_output')
    ? reading.value
    : undefined;
}

function failureOf({ reason, detail, api_status: status }: AgentOutcome): Omit<FailedAttempt, 'ok'> {
  const isAnswered = status !== null;
  const errorClass = isAnswered ? 'http_error' : (CLASSES[reason] ?? 'other');
  const mayRetry = isAnswered ? [408, 425, 429].includes(status) || status >= 500 : RETRIED.has(errorClass);
  return {
    class: errorClass,
    message: printable(clip(detail ?? 'The agent did not finish its work.', FAILURE_BYTES_MAX).text),
    errorName: reason.toUpperCase(),
    mayRetry,
  };
}

export const FAILURE_BYTES_MAX = 1_000;

const CLASSES: Readonly<Partial<Record<Reason, FailedAttempt['class']>>> = {
  api_error: 'network_error',
  wall_clock: 'timeout',
  stalled: 'timeout',
  incomplete_stream: 'schema_mismatch',
  protocol_error: 'schema_mismatch',
  schema_missing: 'schema_mismatch',
};

const RETRIED: ReadonlySet<FailedAttempt['class']> = new Set(['timeout', 'network_error']);
