import { monotonicMs } from '../../base/clock.ts';
import { chosenRevision, initializeParams, type Revision, revisionOf } from '../../targets/mcp.ts';
import { argumentHeaders, missesHeaders, toolInPage } from '../../targets/mcp-headers.ts';
import type { McpAnswer, McpChannel, McpContext } from './mcp-channel.ts';
import { notSent } from './declared-target.ts';
import type { FailedAttempt } from './target.ts';

/** How Proctor and the server talk to each other, once they agree. */
interface Connection {
  /** Undefined for the revision without sessions. */
  readonly revision: string | undefined;
  readonly session?: string;
  readonly generation: number;
}

/** Why there is no connection: an answer, or a refusal. */
type Refused = { readonly answer: McpAnswer } | { readonly failed: FailedAttempt };

export interface ToolRequest {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  /** As `monotonicMs` counts. */
  readonly untilMs: number;
}

/** Calls tools of one server. Finds out once which revision it speaks; all calls share one session. */
export class McpSession {
  readonly #channel: McpChannel;
  #revision: Revision | undefined;
  #opening: Promise<Connection | Refused> | undefined;
  #connection: Connection | undefined;
  /** The schema of the arguments, if the server requires headers for some of them. */
  #schema: unknown;

  constructor(channel: McpChannel) {
    this.#channel = channel;
  }

  async call(request: ToolRequest): Promise<Refused> {
    const connection = await this.#connected(request);
    if (!('generation' in connection)) return connection;
    const answer = await this.#ask(connection, request);
    if (connection.revision === undefined && missesHeaders(answer.response))
      return this.#withHeaders(connection, request, answer);
    const hasExpired = connection.session !== undefined && answer.answer.status === NOT_FOUND;
    if (!hasExpired) return { answer };
    // The server has forgotten the session, so it did not call the tool.
    if (this.#connection === connection) this.#connection = undefined;
    const next = await this.#connected(request);
    return 'generation' in next ? { answer: await this.#ask(next, request) } : next;
  }

  /** Ends the session, if there is one. */
  async leave(): Promise<void> {
    const { session, revision } = this.#connection ?? {};
    if (session !== undefined && revision !== undefined) await this.#channel.leave(session, revision);
  }

  /** Asks again with the headers that the server requires, if its list of tools says which. */
  async #withHeaders(connection: Connection, request: ToolRequest, refused: McpAnswer): Promise<Refused> {
    this.#schema = await this.#schemaOf(connection, request);
    const isKnown = Object.keys(argumentHeaders(this.#schema, request.arguments)).length > 0;
    return { answer: isKnown ? await this.#ask(connection, request) : refused };
  }

  async #schemaOf(connection: Connection, { tool, headers, untilMs }: ToolRequest): Promise<unknown> {
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const deadlineMs = untilMs - monotonicMs();
      const told = await this.#channel.request({ ...connection, method: 'tools/list', params, headers, deadlineMs });
      const { schema, next } = toolInPage(told.response, tool);
      if (next === undefined) return schema;
      cursor = next;
    }
    return undefined;
  }

  #ask(connection: Connection, request: ToolRequest): Promise<McpAnswer> {
    const { tool, arguments: given, untilMs } = request;
    const headers = { ...request.headers, ...argumentHeaders(this.#schema, given) };
    return this.#channel.request({
      ...connection,
      method: 'tools/call',
      name: tool,
      params: { name: tool, arguments: given },
      headers,
      deadlineMs: untilMs - monotonicMs(),
    });
  }

  async #connected(request: ToolRequest): Promise<Connection | Refused> {
    if (this.#connection && this.#connection.generation === this.#channel.generation) return this.#connection;
    // The attempt that opens it has the earliest deadline of all that wait for it.
    this.#opening ??= this.#open(request).finally(() => (this.#opening = undefined));
    const opened = await this.#opening;
    if ('generation' in opened) this.#connection = opened;
    return opened;
  }

  async #open({ headers, untilMs }: ToolRequest): Promise<Connection | Refused> {
    const context = (): McpContext => ({ revision: undefined, headers, deadlineMs: untilMs - monotonicMs() });
    const { generation } = this.#channel;
    if (!this.#revision) {
      const probe = await this.#channel.request({ ...context(), method: 'server/discover', params: {} });
      if (probe.failure && !probe.mayBeLegacy) return { answer: probe };
      const revision = revisionOf(probe.response);
      if (revision === null) return { failed: notSent('The server speaks no revision of MCP that Proctor knows.') };
      this.#revision = revision;
    }
    if (this.#revision.is === 'modern') return { revision: undefined, generation };
    const opened = await this.#initialize(this.#revision.revision, context);
    // A server that was slow to start may have missed the question about its revision.
    if (!('generation' in opened)) this.#revision = undefined;
    return opened;
  }

  async #initialize(wanted: string, context: () => McpContext): Promise<Connection | Refused> {
    const params = initializeParams(wanted);
    const told = await this.#channel.request({ ...context(), revision: wanted, method: 'initialize', params });
    if (told.failure) return { answer: told };
    const revision = chosenRevision(told.response);
    if (revision === undefined) {
      const why = 'The server refused `initialize`, or chose a revision that Proctor does not know.';
      return { failed: { ...notSent(why), mayRetry: true } };
    }
    const session = told.answer.headers['mcp-session-id'];
    const connection = {
      revision,
      ...(session !== undefined && { session }),
      generation: this.#channel.generation,
    };
    await this.#channel.notify('notifications/initialized', { ...context(), ...connection });
    return connection;
  }
}

const NOT_FOUND = 404;
const PAGES_MAX = 20;
