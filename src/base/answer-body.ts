/**
 * The bytes of an answer, as they come. Rejects if the connection ends early, or if the server is silent for `quietMs`;
 * `faultOf` says what to throw then.
 */
export async function* answerPieces(
  { body }: Response,
  { faultOf = asIs, quietMs = QUIET_MS }: AnswerReading = {},
): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await soon(reader.read(), quietMs).catch((cause: unknown) => {
        throw faultOf(cause);
      });
      if (done) return;
      yield value;
    }
  } finally {
    // Frees the connection if nothing reads the rest.
    await reader.cancel().catch(() => undefined);
  }
}

/** Reads an answer; undefined if it is larger than `bytesMax`. */
export async function answerText(
  response: Response,
  bytesMax: number,
  reading?: AnswerReading,
): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answerPieces(response, reading)) {
    bytes += piece.length;
    if (bytes > bytesMax) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

interface AnswerReading {
  readonly faultOf?: (cause: unknown) => unknown;
  readonly quietMs?: number;
}

async function soon<Value>(value: Promise<Value>, ms: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The server is silent.')), ms);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}

const asIs = (cause: unknown): unknown => cause;

const QUIET_MS = 60_000;
