import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';

export interface Talk {
  readonly socket: WebSocket;
  /** The connection below the WebSocket. */
  readonly raw: Socket;
  readonly headers: IncomingMessage['headers'];
  /** The messages received so far. */
  readonly messages: readonly string[];
}

/** What an agent does with a message. */
export type Behaviour = (message: string, talk: Talk) => void;

/** A real WebSocket server. The text of a message determines the behaviour: `What about NAME?`. */
export class WebSocketAgent {
  readonly talks: Talk[] = [];
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  readonly #behaviours: Readonly<Record<string, Behaviour>>;

  constructor(behaviours: Readonly<Record<string, Behaviour>> = {}, perMessageDeflate = true) {
    this.#behaviours = behaviours;
    this.#server = createServer((_request, response) => void response.writeHead(426).end());
    this.#sockets = new WebSocketServer({ server: this.#server, perMessageDeflate });
    this.#sockets.on('connection', (socket, request) => this.#welcome(socket, request));
  }

  async start(): Promise<string> {
    return `ws://127.0.0.1:${await listening(this.#server)}`;
  }

  #welcome(socket: WebSocket, { headers, socket: raw }: IncomingMessage): void {
    const messages: string[] = [];
    const talk = { socket, raw, headers, messages };
    this.talks.push(talk);
    socket.on('error', () => undefined);
    socket.on('message', data => {
      const message = data.toString();
      messages.push(message);
      const name = /What about ([a-z-]+)\?/.exec(message)?.[1] ?? '';
      (this.#behaviours[name] ?? answers)(message, talk);
    });
  }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  onTestFinished(async () => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()));
    for (const socket of open) socket.destroy();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}

/** A server that answers the upgrade itself, with the given bytes. */
export async function rawServer(answer: (socket: Socket) => void): Promise<string> {
  const server = createServer();
  server.on('upgrade', (_request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => undefined);
    answer(socket);
  });
  return `ws://127.0.0.1:${await listening(server)}`;
}

/** Streams an answer in two pieces, with a tool call between them. */
const answers: Behaviour = (message, { socket }) => {
  if (!message.startsWith('{')) return;
  const { question } = JSON.parse(message) as { question: string };
  socket.send(JSON.stringify({ type: 'token', text: 'You asked: ' }));
  socket.send(JSON.stringify({ type: 'tool', id: 'c1', name: 'orders', input: { q: question } }, null, 2));
  socket.send(JSON.stringify({ type: 'token', text: question }));
  socket.send(JSON.stringify({ type: 'done' }));
};

export const sends =
  (...messages: readonly (string | Buffer)[]): Behaviour =>
  (_message, { socket }) => {
    for (const message of messages) socket.send(message);
  };

export const declarationOf = (url: string, more: object = {}): object => ({
  kind: 'websocket',
  url: `${url}/talk`,
  send: [{ question: '${input.user}', session: '${session.id}' }],
  until: { path: '$.type', in: ['done', 'error'] },
  first_output: '$.data.text',
  reply: {
    final_output: { path: "$.frames[?@.data.type=='token'].data.text", join: '' },
    events: [
      {
        as: 'tool_call',
        each: "$.frames[?@.data.type=='tool']",
        ts: '@.at_ms',
        call_id: '@.data.id',
        tool: '@.data.name',
        args: '@.data.input',
      },
    ],
    failed: "$.frames[?@.data.type=='error'].data.message",
  },
  ...more,
});
