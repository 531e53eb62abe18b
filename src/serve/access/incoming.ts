/** A request as it came over the wire, in plain values. Fits Node's IncomingMessage. */
export interface Incoming {
  readonly method?: string | undefined;
  /** The request target: `/v1/runs?limit=5`. */
  readonly url?: string | undefined;
  /** Names and values in turn, with duplicates and in their order. */
  readonly rawHeaders: readonly string[];
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** All values of a header, in their order. */
export function headersNamed({ rawHeaders }: Incoming, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if ((rawHeaders[at] as string).toLowerCase() === name) values.push(rawHeaders[at + 1] as string);
  }
  return values;
}

/** The value of a header. If there are several, no reader can tell which one counts. */
export function oneHeader(incoming: Incoming, name: string): string | undefined | typeof SEVERAL {
  const values = headersNamed(incoming, name);
  return values.length > 1 ? SEVERAL : values[0];
}

export const SEVERAL = Symbol('several');
