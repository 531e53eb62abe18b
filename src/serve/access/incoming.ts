/** A request as it came over the wire, in plain values. Fits Node's IncomingMessage. */
export interface Incoming {
  readonly method?: string | undefined;
  /** The request target: `/v1/runs?limit=5`. */
  readonly url?: string | undefined;
  /** Names and values in turn, with duplicates and in their order. */
  readonly rawHeaders: readonly string[];
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** Why a request is not served. The message is safe to show. */
export interface AccessRefusal {
  readonly status: 400 | 401 | 403 | 421 | 429 | 503;
  readonly code: string;
  readonly message: string;
  /** For 429 and 503: seconds until a new try makes sense. */
  readonly retryAfterS?: number;
}

/** All values of a header, in their order. */
export function valuesOf({ rawHeaders }: Incoming, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if ((rawHeaders[at] as string).toLowerCase() === name) values.push(rawHeaders[at + 1] as string);
  }
  return values;
}

/** The value of a header that occurs at most once. Two values are `twice`, because readers could choose differently. */
export function valueOf(incoming: Incoming, name: string): string | undefined | typeof TWICE {
  const values = valuesOf(incoming, name);
  return values.length > 1 ? TWICE : values[0];
}

export const TWICE = Symbol('twice');
