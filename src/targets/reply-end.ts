import type { TargetDeclaration, TargetPoll } from '../contracts/target/index.ts';
import { readDeclaredPath, stateTest } from './calls.ts';
import { isObject } from '../contracts/kind.ts';
import { mismatch, type UnreadableReply } from './reply.ts';

/** Says why a reply is not the whole answer; undefined if it is. Pure, because the verifier repeats it. */
export type ReplyEnd = (document: unknown, endsInFrame?: boolean) => UnreadableReply | undefined;

/** What a declaration says about the end of a reply; undefined if nothing. Throws a MappingError. */
export function replyEnd(declaration: TargetDeclaration): ReplyEnd | undefined {
  if (declaration.kind === 'websocket' && declaration.until) {
    const isLast = stateTest(declaration.until, 'until.path');
    return document => (dataIn(document).some(isLast) ? undefined : NO_LAST_MESSAGE);
  }
  if (declaration.kind !== 'http') return undefined;
  if (declaration.stream) return streamEnd(declaration.stream.until);
  if (!declaration.poll) return undefined;
  const { until, failed } = declaration.poll;
  const isOver = stateTest(until, 'poll.until.path');
  const stateOf = readDeclaredPath(until.path);
  const hasFailed = failed ? stateTest(failed, 'poll.failed.path') : () => false;
  // An answer without a job has no state.
  return document =>
    hasFailed(document) ? JOB_FAILED : stateOf(document) === undefined || isOver(document) ? undefined : NOT_OVER;
}

/** Without `until`, a stream is certainly cut only if it ends within a frame. */
function streamEnd(until: TargetPoll['until'] | undefined): ReplyEnd {
  const isLast = until && stateTest(until, 'stream.until.path');
  return (document, endsInFrame) => {
    if (isLast) return framesIn(document).some(isLast) ? undefined : NO_LAST_FRAME;
    return endsInFrame ? ENDS_IN_FRAME : undefined;
  };
}

function framesIn(document: unknown): readonly unknown[] {
  const frames = isObject(document) ? document['frames'] : undefined;
  return Array.isArray(frames) ? frames : [];
}

function dataIn(document: unknown): unknown[] {
  return framesIn(document).map(frame => (isObject(frame) ? frame['data'] : undefined));
}

const NO_LAST_FRAME = mismatch('The stream ended before the frame that stream.until describes.');
const ENDS_IN_FRAME = mismatch('The stream ended within a frame. An empty line must end every event.');

const NO_LAST_MESSAGE = mismatch('The agent closed the connection before the message that until describes.');
const NOT_OVER = mismatch('The job is not over, as poll.until says.');
const JOB_FAILED = { ...mismatch('The job failed, according to poll.failed.'), errorName: 'AGENT_FAILED' };
