import { isUtf8 } from 'node:buffer';
import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { bytesHash } from '../../base/hash.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { KeptTwice } from '../../evidence/suite/made-twice.ts';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import type { Attempt } from '../../evidence/suite/suite-run.ts';
import type { SideName } from '../../targets/reply.ts';
import { responseOf } from '../../targets/response.ts';
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
  /** The line that stores the reply. */
  readonly reply?: string | undefined;
  /** The line that stores what the worker of the last attempt signed. */
  readonly outcome?: string | undefined;
  readonly twice?: KeptTwice | undefined;
}

export function answeredCase(
  { id, side, settings }: ArtifactIdentity,
  attempts: Attempt[],
  { reply, masked, bytes }: Answered,
  { agentRun }: Pick<AttemptResult, 'agentRun'> = {},
): KeptArtifact {
  const { response, assets } = responseOf(reply, { id, masked, bytes, inlineBytesMax: settings.payloadInlineBytesMax });
  const artifact: CaseArtifact = {
    ...response,
    schema_version: 'case.v1',
    case_id: id,
    version: side,
    status: 'ok',
    attempts,
  };
  if (agentRun) artifact.agent_run = agentRun;
  return { artifact, assets };
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
      ...(told && !failed.unseen && { latency_ms: told.latencyMs }),
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
