import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { Fault } from '../../base/fault.ts';
import { newToken } from '../../base/ids.ts';
import { Masker, type Masking, maskingOf } from '../../base/masker.ts';
import type { ModelOutput } from '../../contracts/agent-step/reading.ts';
import { type Api, RECORDING_BYTES_MAX, type Recording } from '../../contracts/recording/index.ts';
import { DoorCounter } from './door-counter.ts';
import { openDoorFolder } from './door-folder.ts';
import { answererOf } from './door-modes.ts';
import { Doorkeeper } from './doorkeeper.ts';
import type { BudgetLimits } from '../gateway/budget.ts';
import { RequestFilter, type GateStats } from '../gateway/request-filter.ts';
import { GATEWAYS } from '../gateway/index.ts';
import type { Recorded, RecordingHeader } from './recorder.ts';
import type { UpstreamLimits, UpstreamOptions } from './upstream.ts';

export interface DoorOptions {
  /** `socket`: in the folder `door` of this stage. `tcp`: at 127.0.0.1, for a run with an open network. */
  readonly at: { readonly kind: 'socket'; readonly stage: string } | { readonly kind: 'tcp' };
  readonly api: Api;
  readonly mode: DoorMode;
  /** If denied, Proctor refuses requests that would make the provider use the network. */
  readonly network: 'deny' | 'allow';
  readonly budget?: BudgetLimits;
  /** The run's secrets. Proctor masks them, the key and the token in everything it records or reports. */
  readonly secrets: readonly string[];
  /** Leaves well-known credential formats unmasked. */
  readonly keepCredentials?: boolean;
  readonly limits?: Partial<DoorLimits>;
}

export type DoorMode =
  | { readonly kind: 'live'; readonly upstream: UpstreamOptions }
  | {
      readonly kind: 'record';
      readonly upstream: UpstreamOptions;
      readonly file: string;
      readonly header: RecordingHeader;
    }
  | { readonly kind: 'replay'; readonly recording: Recording };

export interface DoorLimits extends UpstreamLimits {
  readonly requestBytesMax: number;
  readonly answerBytesMax: number;
  readonly requestsAtOnce: number;
  readonly connectionsMax: number;
  /** The time limits for a request's header and for the whole request. */
  readonly requestHeadMs: number;
  readonly requestMs: number;
  readonly recordingBytesMax: number;
}

export interface DoorStats extends GateStats {
  readonly requests: number;
  /** Requests without a complete, successful answer from the model. */
  readonly failures: number;
  /** Body bytes from the agent and to it. */
  readonly bytesAsked: number;
  readonly bytesAnswered: number;
  readonly problem: string | undefined;
}

/** The only connection from an agent to its model: a local server that checks, forwards and counts requests. */
export interface Door {
  /** The socket path, or the port at 127.0.0.1. */
  readonly socket: string | undefined;
  readonly port: number | undefined;
  readonly token: string;
  stats(): DoorStats;
  /** Calls back at the end of an answer in which the model called one of these tools. */
  onQuestion(tools: readonly string[], tell: (tool: string) => void): void;
  /** Calls back once, when the first request exceeds the budget. */
  onOver(tell: (sentence: string) => void): void;
  /** Writes the request counts to a file from now on, for recovery after a crash. */
  countIn(file: string): void;
  /** Calls back for every piece of a successful answer from now on. */
  onSpeech(told: (speech: ModelOutput) => void): void;
  /** In a replay: the first request that differs from the recording, and where. */
  readonly difference: string | undefined;
  /** In a replay: the number of recorded requests that the agent did not make. */
  readonly unasked: number;
  /** Ends all open requests. When recording, writes the recording and returns a summary. */
  close(): Promise<Recorded | undefined>;
}

const LIMITS: DoorLimits = {
  connectMs: 30_000,
  headersMs: 600_000,
  idleMs: 300_000,
  requestBytesMax: 64 * 1024 * 1024,
  answerBytesMax: 256 * 1024 * 1024,
  requestsAtOnce: 64,
  connectionsMax: 256,
  requestHeadMs: 30_000,
  requestMs: 120_000,
  recordingBytesMax: RECORDING_BYTES_MAX,
};

export async function openDoor(options: DoorOptions): Promise<Door> {
  const { at, api, mode } = options;
  const folder = at.kind === 'socket' ? openDoorFolder(at.stage) : undefined;
  const token = newToken();
  const limits = { ...LIMITS, ...options.limits };
  const masking = maskingFor(token, options);
  const answerer = answererOf(mode, api, limits, masking);
  const gate = new RequestFilter({
    gateway: GATEWAYS[api],
    network: options.network,
    budget: options.budget ?? {},
    requestBytesMax: limits.requestBytesMax,
    mask: text => new Masker(masking).whole(Buffer.from(text)).toString(),
  });
  const keeper = new Doorkeeper(token, api, limits, gate, answerer);
  const { server, connections } = serverFor(keeper, limits);
  try {
    await listening(server, folder?.address);
  } catch (error) {
    folder?.close();
    await answerer.close();
    throw error;
  }
  let counter: DoorCounter | undefined;
  let closing: Promise<Recorded | undefined> | undefined;
  const close = async (): Promise<Recorded | undefined> => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()));
    for (const connection of connections) connection.destroy();
    await keeper.idle();
    await closed;
    folder?.close();
    counter?.close();
    return answerer.close();
  };
  return {
    socket: folder?.socket,
    port: folder === undefined ? (server.address() as AddressInfo).port : undefined,
    token,
    stats: () => keeper.stats(),
    onQuestion: (tools, tell) => void (keeper.questions = { tools, tell }),
    onOver: tell => void (gate.onOver = tell),
    countIn(file) {
      const counting = new DoorCounter(file);
      counter = counting;
      keeper.onCount = () => counting.write(keeper.stats(), answerer.difference);
      keeper.onCount();
    },
    onSpeech: told => void (keeper.onSpeech = told),
    get difference() {
      return answerer.difference;
    },
    get unasked() {
      return answerer.unasked;
    },
    close: () => (closing ??= close()),
  };
}

function maskingFor(token: string, { mode, secrets, keepCredentials }: DoorOptions): Masking {
  const key = mode.kind === 'replay' ? undefined : mode.upstream.key;
  return maskingOf([token, ...(key === undefined ? [] : [key]), ...secrets], keepCredentials);
}

function serverFor(keeper: Doorkeeper, limits: DoorLimits): { server: Server; connections: ReadonlySet<Duplex> } {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: limits.requestHeadMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.min(CHECKING_MS, limits.requestHeadMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  server.maxHeadersCount = HEADERS_MAX;
  server.maxConnections = limits.connectionsMax;
  server.on('request', (request, response) => keeper.receive(request, response));
  for (const event of ['upgrade', 'connect'] as const) server.on(event, refuseTunnel);
  // The server does not track connections that requested a tunnel, but they would keep it from closing.
  const connections = new Set<Duplex>();
  server.on('connection', connection => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
  });
  return { server, connections };
}

function refuseTunnel(_request: IncomingMessage, connection: Duplex): void {
  connection.on('error', () => undefined);
  const refusal = 'HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';
  connection.end(refusal, () => connection.destroy());
}

const HEADER_BYTES_MAX = 64 * 1024;
const HEADERS_MAX = 200;
const KEEP_ALIVE_MS = 60_000;
const CHECKING_MS = 1_000;

function listening(server: Server, socket: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    // Later errors are failed connections, which the kernel reports to the client.
    server.on('error', cause => reject(new Fault('door_failed', 'The model proxy could not be started.', { cause })));
    if (socket === undefined) server.listen(0, '127.0.0.1', resolve);
    // The program may run as another user. The permissions of the stage control access to the folder.
    else server.listen({ path: socket, readableAll: true, writableAll: true }, resolve);
  });
}
