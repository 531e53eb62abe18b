import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { bytesHash } from '../base/hash.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { type SuiteReply, type SuiteRequest, suiteRequest } from '../contracts/suite/index.ts';
import { soundDocument } from '../evidence/document.ts';
import { MappingError } from '../targets/mapping/mapping-error.ts';
import { type ReplyReader, replyReader, storesReplies } from '../targets/reader.ts';
import { mismatch } from '../targets/reply.ts';
import { responseOf } from '../targets/response.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import { type Inspector, mustFinding, type Surroundings } from './inspector.ts';

/** What a case states about its answer, or what follows from its reply. */
interface Answer {
  /** The hash of everything in the artifact that comes from the reply. */
  readonly response: string;
  readonly reply: string | undefined;
  readonly ttftMs: number | undefined;
  readonly repairs: string;
}

interface StatedAnswer extends Answer {
  readonly file: string;
  readonly attempt: number;
}

/** A run, as its request describes it. */
interface Run {
  readonly read: ReplyReader;
  readonly side: SuiteRequest['version'];
  readonly inlineBytesMax: number;
}

/** FD14: reads every stored reply again and compares the result with the case. */
export function replyInspector({ bytesOf, troubled, report }: Surroundings): Inspector {
  const runs = new Map<string, Run | undefined>();
  const stated = new Map<string, Map<string, StatedAnswer>>();
  const derived = new Map<string, Map<string, Answer>>();

  const runIn = (folder: string): Run | undefined => {
    if (!runs.has(folder)) runs.set(folder, runOf(bytesOf(path.posix.join(folder, 'evidence/request.json'))));
    return runs.get(folder);
  };

  return {
    take({ file, contract, value }) {
      if (contract.name === 'suite-reply') {
        const folder = path.posix.dirname(path.posix.dirname(file));
        const run = runIn(folder);
        const reply = value as SuiteReply;
        const body =
          reply.href === undefined ? Buffer.from(reply.body ?? '') : bytesOf(path.posix.join(folder, reply.href));
        if (run && body)
          within(derived, folder).set(`${reply.case_id}/${reply.attempt}`, derivedAnswer(run, reply, body));
      }
      if (contract.name === 'case') {
        const artifact = value as CaseArtifact;
        if (artifact.status !== 'ok') return;
        const attempt = artifact.attempts?.length ?? 0;
        within(stated, path.posix.dirname(file)).set(artifact.case_id, { ...statedAnswer(artifact), file, attempt });
      }
    },

    end() {
      for (const [folder, cases] of stated) {
        if (troubled.has(path.posix.join(folder, 'evidence/request.json')) || !runIn(folder)) continue;
        const replies = derived.get(folder);
        for (const [id, { file, attempt, ...answer }] of cases) {
          const found = replies?.get(`${id}/${attempt}`);
          if (!found) report({ rule: FOLDER_RULES.FD14.id, level: 'must', file, message: 'has no stored reply' });
          else
            for (const [at, message] of differences(answer, found))
              report(mustFinding(FOLDER_RULES.FD14.id, file, at, message));
        }
      }
    },
  };
}

/** Undefined if the run stores no replies. */
function runOf(bytes: Buffer | undefined): Run | undefined {
  const request = bytes && (soundDocument(bytes, suiteRequest) as SuiteRequest | undefined);
  if (!request || !storesReplies(request.target)) return undefined;
  const { settings, version: side, target } = request;
  return {
    read: readerFor(target, settings.max_body_bytes),
    side,
    inlineBytesMax: settings.max_payload_inline_bytes,
  };
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

function derivedAnswer(
  { read, side, inlineBytesMax }: Run,
  { case_id: id, frame_ms, sha256 }: SuiteReply,
  body: Buffer,
): Answer {
  const reading = read({ body, ...(frame_ms && { frameMs: frame_ms }) }, { caseId: id, side });
  if (!reading.ok) return { response: 'none', reply: sha256, ttftMs: undefined, repairs: '{}' };
  const { response } = responseOf(reading.reply, { id, bytes: body.length, masked: {}, inlineBytesMax });
  return {
    response: responseHash(response),
    reply: sha256,
    ttftMs: reading.ttftMs,
    repairs: canonicalize(reading.repairs),
  };
}

function statedAnswer(artifact: CaseArtifact): Answer {
  const { ttft_ms, repairs = {}, reply_sha256 } = artifact.attempts?.at(-1) ?? {};
  return { response: responseHash(artifact), reply: reply_sha256, ttftMs: ttft_ms, repairs: canonicalize(repairs) };
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

function* differences(stated: Answer, found: Answer): Generator<readonly [at: string, message: string]> {
  if (stated.reply !== found.reply) yield ['attempts', 'state the hash of another reply'];
  if (stated.response !== found.response)
    yield ['final_output', 'or another part of the answer does not follow from the stored reply'];
  if (stated.ttftMs !== found.ttftMs)
    yield ['attempts', 'state a time to the first output that does not follow from the stored reply'];
  if (stated.repairs !== found.repairs) yield ['attempts', 'state repairs that do not follow from the stored reply'];
}

function within<Value>(map: Map<string, Map<string, Value>>, folder: string): Map<string, Value> {
  let inner = map.get(folder);
  if (!inner) map.set(folder, (inner = new Map()));
  return inner;
}
