/**
 * Something that is our own failure or the machine's. The message is for whoever reads it last, so it holds no path, no
 * secret and no stack; what a developer needs is in `cause`.
 */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** What was behind a fault, for a log that only we read. */
export function causeText(cause: unknown): string {
  if (cause instanceof Error) return cause.stack ?? cause.message;
  return typeof cause === 'string' ? cause : '';
}

/** The word by which the system names an error, such as ENOENT; empty for errors of another kind. */
export function codeOf(error: unknown): string {
  const { code } = (error instanceof Error ? error : {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Runs `act`. If it throws, throws a fault that says what could not be written, and whether the disk is full. */
export function orWriteFault<Value>(code: string, what: string, act: () => Value): Value {
  try {
    return act();
  } catch (cause) {
    throw new Fault(code, `${what} could not be written${fullDisk(cause)}.`, { cause });
  }
}

/** What people can mend of that which keeps us from writing, as the end of a sentence; nothing, where it is something else. */
export function fullDisk(cause: unknown): string {
  return FULL.has(codeOf(cause)) ? ': the disk is full' : '';
}

/** No room at all, and no more for this user. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
