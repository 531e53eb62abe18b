/** Requests that a stand-in sends to its model, as any process with the proxy token could. */
export interface Asking {
  readonly method?: string;
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly times?: number;
  /** Disconnects as soon as the answer starts. */
  readonly hangsUp?: boolean;
}

export interface Way {
  readonly url: string;
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** The request as the argument of an action: `DO=request:…`. */
export function askingText(asking: Asking): string {
  return `DO=request:${Buffer.from(JSON.stringify(asking)).toString('base64url')}`;
}

/** Sends the request and ignores the result. */
export async function askAs(way: Way, argument: string | undefined): Promise<void> {
  const asking = JSON.parse(Buffer.from(argument ?? 'e30', 'base64url').toString()) as Asking;
  const { method = 'POST', path = way.path, body = way.body, headers, times = 1, hangsUp } = asking;
  for (let asked = 0; asked < times; asked++) {
    const control = new AbortController();
    try {
      const answer = await fetch(`${way.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...way.headers, ...headers },
        signal: control.signal,
        ...(method === 'POST' && { body: JSON.stringify(body) }),
      });
      if (hangsUp) control.abort();
      else await answer.text();
    } catch {
      // Expected if the model does not answer, or if the stand-in disconnected.
    }
  }
}
