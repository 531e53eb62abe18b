import type { TargetDeclaration } from '../contracts/target/index.ts';
import { readDeclaredPath, stateTest } from './calls.ts';
import { isObject } from '../contracts/kind.ts';
import { mismatch, type UnreadableReply } from './reply.ts';

/** Says why a reply is not the whole answer; undefined if it is. Pure, because the verifier repeats it. */
export type ReplyEnd = (document: unknown) => UnreadableReply | undefined;

/** What a declaration says about the end of a reply; undefined if nothing. Throws a MappingError. */
export function replyEnd(declaration: TargetDeclaration): ReplyEnd | undefined {
  if (declaration.kind === 'websocket' && declaration.until) {
    const isLast = stateTest(declaration.until, 'until.path');
    return document => (dataIn(document).some(isLast) ? undefined : NO_LAST_MESSAGE);
  }
  if (declaration.kind !== 'http' || !declaration.poll) return undefined;
  const { until, failed } = declaration.poll;
  const isOver = stateTest(until, 'poll.until.path');
  const stateOf = readDeclaredPath(until.path);
  const hasFailed = failed ? stateTest(failed, 'poll.failed.path') : () => false;
  // An answer without a job has no state.
  return document =>
    hasFailed(document) ? JOB_FAILED : stateOf(document) === undefined || isOver(document) ? undefined : NOT_OVER;
}

function dataIn(document: unknown): unknown[] {
  const frames = isObject(document) ? document['frames'] : undefined;
  return Array.isArray(frames) ? frames.map(frame => (isObject(frame) ? frame['data'] : undefined)) : [];
}

const NO_LAST_MESSAGE = mismatch('The agent closed the connection before the message that until describes.');
const NOT_OVER = mismatch('The job is not over, as poll.until says.');
const JOB_FAILED = { ...mismatch('The job failed, as poll.failed says.'), errorName: 'AGENT_FAILED' };
