import { bytesHash } from '../../base/hash.ts';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import type { KeptReply } from '../../targets/reader.ts';

export interface ReplyLine {
  /** A `suite-reply.v1` document. */
  readonly line: string;
  readonly sha256: string;
  /** The file of a reply that is too large for a line. */
  readonly assets: readonly Asset[];
}

/** The line that stores a reply. */
export function replyLine(caseId: string, attempt: number, { body, frameMs }: KeptReply): ReplyLine {
  const sha256 = bytesHash(body);
  const isLarge = body.length > INLINE_BYTES_MAX;
  const href = `assets/${caseId}.${attempt}.reply`;
  const line = JSON.stringify({
    schema_version: 'suite-reply.v1',
    case_id: caseId,
    attempt,
    ...(isLarge ? { href } : { body: body.toString() }),
    sha256,
    bytes: body.length,
    ...(frameMs && { frame_ms: frameMs }),
  });
  return { line, sha256, assets: isLarge ? [{ href, kind: 'other', caseId, bytes: body }] : [] };
}

const INLINE_BYTES_MAX = 64 * 1024;
