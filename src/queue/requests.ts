import { Fault } from '../base/fault.ts';
import { type AttemptRequest, QUEUE_TEXT_BYTES_MAX, SLOTS_MAX, type Settlement } from './queue.ts';

/** Rejects a request that the queue cannot hold. */
export function assertRequest(request: AttemptRequest): void {
  const { key, runId, protocol, needs, slots, priority, timeoutMs, ask, trace, notBy, script } = request;
  const broken = [
    !KEY.test(key) && 'its key is not <run id>/<case id>/<attempt>, or that and /<number>',
    !key.startsWith(`${runId}/`) && 'its key does not begin with the id of its run',
    !isCount(protocol, 1, PROTOCOL_MAX) && 'its protocol is not a version number',
    !NEEDS.test(needs) &&
      `its needs are not 1 to ${NEEDS_CHARS_MAX} letters, digits, and the characters . _ : @ + = / -`,
    slots && !SLOTS_MAX.includes(slots.max) && `its limit of slots is not one of ${SLOTS_MAX.join(', ')}`,
    slots && !TARGET.test(slots.target) && `its target is not 1 to ${NEEDS_CHARS_MAX} printable characters`,
    !isCount(priority, -PRIORITY_MAX, PRIORITY_MAX) &&
      `its priority is not a whole number from -${PRIORITY_MAX} to ${PRIORITY_MAX}`,
    !isCount(timeoutMs, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX) && 'its timeout is not between 1 second and 24 hours',
    !isText(ask) && `its document is larger than ${QUEUE_TEXT_BYTES_MAX} bytes, or not valid text`,
    trace !== undefined && !TRACE.test(trace) && 'its trace is not a traceparent',
    notBy !== undefined && !KEY_ID.test(notBy) && 'the key that must not make it is not the id of a key',
    notBy !== undefined && slots && 'it has both a limit of slots and a key that must not make it',
    notBy !== undefined && script && 'it has both a script and a key that must not make it',
    script !== undefined && !isScript(script) && 'its script is not a digest and a network',
  ].find(reason => typeof reason === 'string');
  if (broken) throw new Fault('attempt_request', `The queue cannot hold this attempt: ${broken}.`);
}

/** Rejects a settlement that the queue cannot hold. */
export function assertSettlement({ end }: Settlement): void {
  const text = end.is === 'reported' ? end.report : end.why;
  if (isText(text)) return;
  throw new Fault(
    'attempt_settlement',
    `The queue cannot hold this outcome: it is larger than ${QUEUE_TEXT_BYTES_MAX} bytes, or not valid text. Put large values into the store.`,
  );
}

/** A row of the database may contain anything. */
function isScript(script: unknown): boolean {
  const { sha256, network } = (script ?? {}) as { sha256?: unknown; network?: unknown };
  return typeof sha256 === 'string' && KEY_ID.test(sha256) && (network === 'open' || network === 'blocked');
}

/** PostgreSQL cannot store a NUL character, and UTF-8 cannot express half a surrogate pair. */
function isText(text: string): boolean {
  return Buffer.byteLength(text) <= QUEUE_TEXT_BYTES_MAX && !text.includes('\0') && !HALF_PAIR.test(text);
}

function isCount(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

const KEY = /^[A-Za-z0-9][\w.:-]{0,199}\/[A-Za-z0-9][\w.-]{0,99}\/[1-9]\d{0,5}(?:\/[1-9]\d?)?$/;
const NEEDS_CHARS_MAX = 300;
const NEEDS = /^[\w.:@+=/-]{1,300}$/;
const TARGET = /^[\x20-\x7e]{1,300}$/;
const TRACE = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const KEY_ID = /^sha256:[0-9a-f]{64}$/;
const HALF_PAIR = /\p{Surrogate}/u;
const PROTOCOL_MAX = 1000;
const PRIORITY_MAX = 10;
const TIMEOUT_MS_MIN = 1000;
/** The longest that pg-boss accepts. */
const TIMEOUT_MS_MAX = 86_400_000;
