/** The only file of the pages that talks to the network: the API of the server that sent the page. */

/** An answer that is not a success, in the words of the server. */
export class Refusal extends Error {
  /** The HTTP status; 0 if the server did not answer. */
  readonly status: number;
  readonly code: string;
  /** What is wrong with each field of a form. */
  readonly fields: ReadonlyMap<string, string>;

  constructor(status: number, code: string, message: string, fields: ReadonlyMap<string, string> = new Map()) {
    super(message);
    this.fields = fields;
    this.status = status;
    this.code = code;
  }
}

export function ask<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return answerOf<Answer>(path, { method: 'GET' }, ANSWER_MS, signal);
}

/** Makes the server do something. `body` is sent as JSON. */
export function order<Answer>(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<Answer> {
  const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return answerOf<Answer>(path, { method, ...(body !== undefined && json) }, ANSWER_MS);
}

/** Sends a file or a form. */
export function upload<Answer>(
  path: string,
  body: Blob | FormData,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return answerOf<Answer>(path, { method: 'POST', body, headers }, UPLOAD_MS);
}

const ANSWER_MS = 30_000;
const UPLOAD_MS = 600_000;

interface Asking {
  readonly method: string;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answerOf<Answer>(path: string, init: Asking, ms: number, signal?: AbortSignal): Promise<Answer> {
  const timeout = AbortSignal.timeout(ms);
  const response = await fetch(path, {
    ...init,
    headers: { accept: 'application/json', ...init.headers },
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    const why = timeout.aborted ? `The server did not answer within ${ms / 1_000} s.` : 'The server cannot be reached.';
    throw new Refusal(0, 'unreachable', `${why} Check that it runs.`);
  });
  noteClock(response.headers.get('date'));
  if (response.status === 204) return undefined as Answer;
  const value: unknown = await response.json().catch(() => undefined);
  if (response.ok && value !== undefined) return value as Answer;
  const { error } = (value ?? {}) as { readonly error?: SentRefusal };
  throw new Refusal(
    response.status,
    error?.code ?? 'unreadable',
    error?.message ?? 'The server’s answer is unreadable.',
    new Map(error?.fields?.map(({ field, message }) => [field, message])),
  );
}

interface SentRefusal {
  readonly code: string;
  readonly message: string;
  readonly fields?: readonly { readonly field: string; readonly message: string }[];
}

let clockAheadMs: number | undefined;

/** The clock of the server decides how long something has run. The clock of this machine may be wrong. */
function noteClock(text: string | null): void {
  const ms = Date.parse(text ?? '');
  if (!Number.isNaN(ms)) clockAheadMs = ms - performance.now();
}

/** The time at the server, to about a second; null before its first answer. */
export const serverNowMs = (): number | null => (clockAheadMs === undefined ? null : clockAheadMs + performance.now());

interface Listener {
  readonly onEvent: (kind: string, data: unknown, id: string) => void;
  /** Whether the connection is open. The browser connects again by itself and continues after the last event. */
  readonly onState: (isOpen: boolean) => void;
}

/** Follows a stream of events until the returned function is called. */
export function follow(path: string, kinds: readonly string[], { onEvent, onState }: Listener): () => void {
  let source: EventSource;
  let timer: number | undefined;
  let pauseMs = PAUSE_MS;
  let last = '';
  const open = (): void => {
    source = new EventSource(last === '' ? path : `${path}?after=${encodeURIComponent(last)}`);
    source.addEventListener('open', () => {
      pauseMs = PAUSE_MS;
      onState(true);
    });
    source.addEventListener('error', () => {
      onState(false);
      // A browser does not connect again after a refusal, such as that of a proxy whose server restarts.
      if (source.readyState !== EventSource.CLOSED) return;
      timer = window.setTimeout(open, pauseMs);
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
    });
    for (const kind of kinds) {
      source.addEventListener(kind, event => {
        if (LAST.has(kind)) source.close();
        last = event.lastEventId;
        onEvent(kind, dataOf(event.data), last);
      });
    }
  };
  open();
  return () => {
    window.clearTimeout(timer);
    source.close();
  };
}

const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 30_000;
const LAST = new Set(['sealed', 'gone', 'ended']);

function dataOf(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
