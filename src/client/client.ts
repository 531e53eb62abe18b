import { answerText } from '../base/answer-body.ts';
import { Fault } from '../base/fault.ts';
import { newCorrelationId } from '../base/ids.ts';
import type {
  CaseListAnswer,
  ClientOptions,
  FileToPublish,
  OrderState,
  PublishedAnswer,
  RunAnswer,
  RunListAnswer,
  ScriptsAnswer,
  ScriptVersionsAnswer,
  AnswersToSend,
  IntentToStart,
  QuestionsAnswer,
  QueueAnswer,
  ServerEvent,
  SuiteToStart,
} from './answers.ts';
import { eventsIn } from './event-stream.ts';

type Query = Readonly<Record<string, string | number | undefined>>;

/** Asks a Proctor server. Every refusal is a `Fault` with the code and the sentence of the server. */
export class ProctorClient {
  readonly #base: URL;
  readonly #token: string;
  readonly #timeoutMs: number;

  constructor(url: string, { token, timeoutMs = TIMEOUT_MS }: ClientOptions) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new Fault('usage', 'The URL of the server must start with http:// or https://.');
    if (!/^[\x21-\x7e]{1,4096}$/.test(token)) throw new Fault('usage', 'The token has no valid form.');
    this.#base = new URL(url);
    this.#token = token;
    this.#timeoutMs = timeoutMs;
  }

  /** Lists runs, newest first. `after` continues after the last run of a page. */
  listRuns(query: Query = {}): Promise<RunListAnswer> {
    return this.#json('GET', '/v1/runs', { query });
  }

  run(id: string): Promise<RunAnswer> {
    return this.#json('GET', `/v1/runs/${encodeURIComponent(id)}`);
  }

  /** The verdict on a suite run and its overview, as `GET /v1/runs/{run_id}/report` describes it. */
  runReport(id: string): Promise<unknown> {
    return this.#json('GET', `/v1/runs/${encodeURIComponent(id)}/report`);
  }

  /** Lists the cases of a suite run, failures first. */
  runCases(id: string, query: Query = {}): Promise<CaseListAnswer> {
    return this.#json('GET', `/v1/runs/${encodeURIComponent(id)}/cases`, { query });
  }

  /** A case of a suite run, with every attempt. */
  runCase(id: string, caseId: string): Promise<unknown> {
    return this.#json('GET', `/v1/runs/${encodeURIComponent(id)}/cases/${encodeURIComponent(caseId)}`);
  }

  /** Lists sealed comparisons, newest first. */
  listComparisons(query: Query = {}): Promise<unknown> {
    return this.#json('GET', '/v1/comparisons', { query });
  }

  /** Orders a suite. With the same key, the server takes the same order once, so a failed call can be repeated. */
  startSuite(order: SuiteToStart, key: string = newCorrelationId()): Promise<OrderState> {
    return this.#json('POST', '/v1/runs', { body: order, headers: { 'idempotency-key': key } });
  }

  /** Orders an intent, as `startSuite` does a suite. */
  startIntent(order: IntentToStart, key: string = newCorrelationId()): Promise<OrderState> {
    return this.#json('POST', '/v1/intents', { body: order, headers: { 'idempotency-key': key } });
  }

  /** The open questions of an intent run. */
  questions(id: string): Promise<QuestionsAnswer> {
    return this.#json('GET', `/v1/runs/${encodeURIComponent(id)}/questions`);
  }

  /** Answers questions of an intent run by their ids, and orders a new run with the answers. */
  answer(id: string, answers: AnswersToSend, key: string = newCorrelationId()): Promise<OrderState> {
    const headers = { 'idempotency-key': key };
    return this.#json('POST', `/v1/runs/${encodeURIComponent(id)}/answers`, { body: answers, headers });
  }

  /** Cancels a run, and waits until it has stopped. */
  cancel(id: string): Promise<OrderState> {
    return this.#json('POST', `/v1/runs/${encodeURIComponent(id)}/cancel`, { timeoutMs: CANCEL_MS });
  }

  /** Resumes an interrupted suite. */
  resume(id: string): Promise<OrderState> {
    return this.#json('POST', `/v1/runs/${encodeURIComponent(id)}/resume`);
  }

  /** The queue of the team: what waits, what is active, what was lost in the last hour, and the workers. */
  queue(): Promise<QueueAnswer> {
    return this.#json('GET', '/v1/queue');
  }

  /** The published scripts that this identity may run; for those who publish, also every version. */
  scripts(): Promise<ScriptsAnswer> {
    return this.#json('GET', '/v1/scripts');
  }

  /** Publishes a folder with a script.yaml. The same folder again changes nothing, so a failed call can be repeated. */
  publish(files: readonly FileToPublish[], { draft = false }: { draft?: boolean } = {}): Promise<PublishedAnswer> {
    const form = new FormData();
    for (const { path, bytes, isProgram } of files)
      form.append(isProgram ? 'program' : 'file', new Blob([bytes]), path);
    return this.#json('POST', '/v1/scripts', { form, query: { draft: String(draft) }, timeoutMs: UPLOAD_MS });
  }

  /** Withdraws a version, so that no new run uses it. */
  withdraw(name: string, version: string): Promise<ScriptVersionsAnswer> {
    const [script, one] = [name, version].map(encodeURIComponent);
    return this.#json('POST', `/v1/scripts/${script}/versions/${one}/withdraw`);
  }

  /** Makes the version before the current one current again. */
  rollBack(name: string): Promise<ScriptVersionsAnswer> {
    return this.#json('POST', `/v1/scripts/${encodeURIComponent(name)}/rollback`);
  }

  /**
   * The events of a run, until it is sealed or removed. After a lost connection, it continues after the last event. It
   * gives up if the server cannot be reached for a minute.
   */
  async *events(
    id: string,
    { after, signal }: { after?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<ServerEvent> {
    let last = after;
    for (let failures = 0; ; ) {
      if (signal?.aborted) return;
      try {
        const headers = last === undefined ? {} : { 'last-event-id': last };
        const response = await this.#send('GET', `/v1/runs/${encodeURIComponent(id)}/events`, { headers, signal });
        for await (const event of eventsIn(response)) {
          failures = 0;
          last = event.id ?? last;
          yield event;
          if (event.event === 'sealed' || event.event === 'gone') return;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (!(error instanceof Fault) || error.code !== 'unreachable' || failures >= RECONNECTS_MAX) throw error;
      }
      if (++failures > RECONNECTS_MAX) throw unreachable();
      await new Promise(resolve => setTimeout(resolve, RECONNECT_MS));
    }
  }

  /** The pack of a finished run, as a stream of bytes. */
  async pack(id: string, signal?: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#send('GET', `/v1/runs/${encodeURIComponent(id)}/pack`, { signal });
    if (!response.body) throw unreachable();
    return response.body;
  }

  async #json<Answer>(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const response = await this.#send(method, path, asked);
    return JSON.parse(await textOf(response)) as Answer;
  }

  async #send(method: string, path: string, asked: Asked): Promise<Response> {
    const { query = {}, body, form, headers = {}, signal, timeoutMs = this.#timeoutMs } = asked;
    const url = new URL(path, this.#base);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    // The limit ends with the answer's headers, because a stream of events may last for hours.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    let response: Response;
    try {
      response = await fetch(url, {
        method,
        // A redirect could send the token to another server.
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(form && { body: form }),
      });
    } catch (cause) {
      throw unreachable(cause);
    } finally {
      clearTimeout(timer);
    }
    if (response.ok) return response;
    throw await refusalOf(response);
  }
}

interface Asked {
  readonly query?: Query;
  readonly body?: unknown;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

async function refusalOf(response: Response): Promise<Fault> {
  if (response.status >= 300 && response.status < 400)
    return new Fault('redirected', 'The server redirects to another address. Use that address, if you trust it.');
  try {
    const { error } = JSON.parse(await textOf(response)) as { error: { code: unknown; message: unknown } };
    if (typeof error.code === 'string' && typeof error.message === 'string')
      return new Fault(error.code, error.message);
  } catch {
    // Another server answered.
  }
  return new Fault('no_proctor', `The address answers with status ${response.status}, but not as a Proctor server.`);
}

/** Reads a JSON answer up to a limit. */
async function textOf(response: Response): Promise<string> {
  const text = await answerText(response, ANSWER_BYTES_MAX, { faultOf: unreachable });
  if (text === undefined) throw new Fault('answer_too_large', 'The answer of the server exceeds 64 MiB.');
  return text;
}

function unreachable(cause?: unknown): Fault {
  return new Fault('unreachable', 'The server cannot be reached. Check its address, and that it runs.', { cause });
}

const TIMEOUT_MS = 60_000;
/** A server waits up to a minute until a cancelled run has stopped. */
const CANCEL_MS = 90_000;
const UPLOAD_MS = 600_000;
const RECONNECT_MS = 1_000;
const RECONNECTS_MAX = 60;
const ANSWER_BYTES_MAX = 64 * 1024 ** 2;
