import type { SuiteTarget } from '../contracts/suite/index.ts';
import { readReply, type ReplyNames, type ReplyReading } from './reply.ts';

/** A reply as it is stored: masked, and with the arrival times of its frames if it is a stream. */
export interface KeptReply {
  readonly body: Buffer;
  readonly frameMs?: readonly number[];
}

/** Reads stored replies. Pure, because the verifier repeats it. */
export type ReplyReader = (kept: KeptReply, names: Omit<ReplyNames, 'isLenient'>) => ReadReply;

export type ReadReply = ReplyReading & {
  /** Time to the first output, for a streamed reply. */
  readonly ttftMs?: number;
};

export function replyReader(target: SuiteTarget, bytesMax: number): ReplyReader {
  const isLenient = target.kind === 'http' && target.replies === 'lenient';
  return ({ body }, names) => readReply(body, bytesMax, { ...names, isLenient });
}

/** Whether runs of a target store its replies. Scripts and agents store theirs in runs of their own. */
export function storesReplies(target: SuiteTarget): boolean {
  return target.kind === 'http' && target.replies !== undefined;
}
