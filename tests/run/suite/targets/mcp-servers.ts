import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { onTestFinished } from 'vitest';
import * as z from 'zod';

/** A request that a server received. */
export interface Seen {
  readonly headers: IncomingMessage['headers'];
  readonly message: Readonly<Record<string, unknown>>;
}

export const methodsOf = (seen: readonly Seen[]): unknown[] => seen.map(({ message }) => message['method']);

/** A server of the published library with one tool. The question determines what the tool does. */
function toolServer(): McpServer {
  const server = new McpServer({ name: 'desk', version: '1.0.0' }, { capabilities: { logging: {} } });
  server.registerTool('ask', { inputSchema: { question: z.string() } }, async ({ question }, extra) => {
    const text = `You asked: ${question}`;
    if (question.includes('structured'))
      return { content: [{ type: 'text', text }], structuredContent: { answer: text } };
    if (question.includes('wrong')) return { isError: true, content: [{ type: 'text', text: 'No stock' }] };
    if (question.includes('mute')) return { isError: true, content: [] };
    if (question.includes('pings')) {
      await extra.sendNotification({
        method: 'notifications/message',
        params: { level: 'info', data: 'one moment' },
      });
      await extra.sendRequest({ method: 'ping' }, z.object({}));
    }
    return {
      content: [
        { type: 'text', text },
        { type: 'text', text: 'Anything else?' },
      ],
    };
  });
  return server;
}

export interface McpWorld {
  readonly url: string;
  readonly seen: Seen[];
  /** The open sessions, if the server has sessions. */
  readonly sessions: Map<string, StreamableHTTPServerTransport>;
}

/** A server that requires `initialize` and a session id. */
export async function sessionServer(enableJsonResponse = false): Promise<McpWorld> {
  const sessions: McpWorld['sessions'] = new Map();
  let count = 0;
  return served(async (request, response, message) => {
    const known = sessions.get(String(request.headers['mcp-session-id']));
    if (known) return known.handleRequest(request, response, message);
    if (request.headers['mcp-session-id'] !== undefined) return void response.writeHead(404).end();
    if (message?.['method'] !== 'initialize') return void response.writeHead(400).end('No session');
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => `session-${++count}`,
      enableJsonResponse,
      onsessioninitialized: id => void sessions.set(id, transport),
      onsessionclosed: id => void sessions.delete(id),
    });
    await toolServer().connect(transport);
    await transport.handleRequest(request, response, message);
  }, sessions);
}

/** A server of the same library that keeps nothing between requests. */
export async function statelessServer(enableJsonResponse = false): Promise<McpWorld> {
  return served(async (request, response, message) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse });
    await toolServer().connect(transport);
    await transport.handleRequest(request, response, message);
  });
}

export type Handle = (
  request: IncomingMessage,
  response: ServerResponse,
  message: Readonly<Record<string, unknown>> | undefined,
) => void | Promise<void>;

export async function served(handle: Handle, sessions: McpWorld['sessions'] = new Map()): Promise<McpWorld> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const message = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
      seen.push({ headers: request.headers, message: message ?? { method: request.method } });
      void handle(request, response, message);
    });
  });
  return { url: `${await listening(server)}/mcp`, seen, sessions };
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers a call, as a server without sessions. */
export type Answer = (call: Call, response: ServerResponse) => void;

interface Call {
  readonly id: number;
  readonly question: string;
}

const META = 'io.modelcontextprotocol/';

/** A strict server of revision 2026-07-28, which the published library does not support. */
export function modernServer(answer: Answer = answersCall): Promise<McpWorld> {
  return served(({ headers }, response, message = {}) => {
    const { id, method, params } = message as { id: number; method: string; params?: Params };
    const refuse = (code: number, text: string): void =>
      reply(response, { jsonrpc: '2.0', id, error: { code, message: text } }, 400);
    const { _meta: meta = {}, name, arguments: given = {} } = params ?? {};
    if (headers['mcp-protocol-version'] !== '2026-07-28' || meta[`${META}protocolVersion`] !== '2026-07-28')
      return refuse(-32_022, 'Unsupported protocol version');
    if (headers['mcp-method'] !== method || headers['mcp-name'] !== name) return refuse(-32_020, 'Header mismatch');
    if (typeof meta[`${META}clientCapabilities`] !== 'object') return refuse(-32_602, 'No capabilities');
    if (headers['mcp-session-id'] !== undefined) return refuse(-32_600, 'This server has no sessions');
    if (method === 'tools/list') {
      const page = params?.cursor === undefined ? { tools: [{ name: 'other' }], nextCursor: '2' } : { tools: [TOOL] };
      return reply(response, { jsonrpc: '2.0', id, result: { ...COMPLETE, ...page } });
    }
    if (given['region'] !== undefined && headers['mcp-param-region'] !== given['region'])
      return refuse(-32_020, 'Header mismatch');
    if (method === 'server/discover')
      return reply(response, { jsonrpc: '2.0', id, result: { ...COMPLETE, supportedVersions: ['2026-07-28'] } });
    answer({ id, question: String(given['question']) }, response);
  });
}

const TOOL = {
  name: 'ask',
  inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
};

interface Params {
  readonly cursor?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

const COMPLETE = { resultType: 'complete' };

export const resultOf = (text: string): object => ({ ...COMPLETE, content: [{ type: 'text', text }] });

const answersCall: Answer = ({ id, question }, response) =>
  reply(response, { jsonrpc: '2.0', id, result: resultOf(`You asked: ${question}`) });

export function reply(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

export const event = (value: unknown): string => `event: message\ndata: ${JSON.stringify(value)}\n\n`;

export function streamed(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

export const declarationOf = (url: string, more: object = {}): object => ({
  kind: 'mcp-tool',
  url,
  tool: 'ask',
  arguments: { question: '${input.user}' },
  ...more,
});
