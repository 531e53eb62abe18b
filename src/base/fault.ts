/**
 * A failure in Proctor or on the machine. The message is for users, so it contains no path, no secret and no stack.
 * Details for developers are in `cause`.
 */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The cause of a fault, for the internal log. */
export function causeText(cause: unknown): string {
  if (cause instanceof Error) return cause.stack ?? cause.message;
  return typeof cause === 'string' ? cause : '';
}

/** The code of a system error, such as ENOENT; empty for other errors. */
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

/** The end of a sentence if a full disk caused the error; otherwise empty. */
export function fullDisk(cause: unknown): string {
  return FULL.has(codeOf(cause)) ? ': the disk is full' : '';
}

/** The disk is full, or the user's quota is used up. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
