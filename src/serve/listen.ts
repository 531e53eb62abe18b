import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Fault, codeOf } from '../base/fault.ts';
import { appOf } from './http/app.ts';
import { ROUTES } from './routes/index.ts';
import type { Server } from './http/server.ts';

export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Stops accepting connections, waits for those that are open, and then closes the rest. */
  stop(drainMs: number): Promise<void>;
}

/** How long the server waits for a client, in milliseconds. */
export interface Patience {
  /** For a whole request. */
  readonly requestMs: number;
  readonly headersMs: number;
  /** For the next request on a connection. */
  readonly keepAliveMs: number;
  /** For a client that does not read its answer. */
  readonly stallMs: number;
  /** How often it looks for clients that are late. */
  readonly lookMs: number;
}

const PATIENCE: Patience = {
  requestMs: 300_000,
  headersMs: 15_000,
  keepAliveMs: 5_000,
  stallMs: 60_000,
  lookMs: 5_000,
};

/** Opens the port. Every wait for a client has a limit. */
export async function listen(
  server: Server,
  host: string,
  port: number,
  patience: Patience = PATIENCE,
): Promise<Listening> {
  const http = createAdaptorServer({
    fetch: appOf(server, ROUTES).fetch,
    serverOptions: {
      requestTimeout: patience.requestMs,
      headersTimeout: patience.headersMs,
      connectionsCheckingInterval: patience.lookMs,
      maxHeaderSize: HEADER_BYTES_MAX,
      // Finds out that a client has vanished.
      keepAlive: true,
    },
  }) as HttpServer;
  http.keepAliveTimeout = patience.keepAliveMs;
  // A connection without progress is fine while the server works on its answer, but not while the client must read.
  http.setTimeout(patience.stallMs, socket => {
    if (socket.writableLength > 0) socket.destroy();
  });
  http.maxConnections = CONNECTIONS_MAX;
  http.maxHeadersCount = HEADER_FIELDS_MAX;
  await new Promise<void>((resolve, reject) => {
    http.once('error', error => reject(unlistenable(error, host, port)));
    http.listen(port, host, resolve);
  });
  const address = http.address() as AddressInfo;
  return { host, port: address.port, stop: drainMs => stopped(http, drainMs) };
}

const HEADER_BYTES_MAX = 16 * 1024;
const HEADER_FIELDS_MAX = 100;
const CONNECTIONS_MAX = 4_096;

async function stopped(http: HttpServer, drainMs: number): Promise<void> {
  const closed = new Promise<void>(resolve => {
    http.close(() => resolve());
  });
  http.closeIdleConnections();
  const timer = setTimeout(() => http.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(timer);
}

function unlistenable(error: Error, host: string, port: number): Fault {
  const why =
    codeOf(error) === 'EADDRINUSE'
      ? 'another program uses it. Specify another with --listen'
      : codeOf(error) === 'EACCES'
        ? 'you may not use it. Specify a port above 1023'
        : 'the address is not available on this machine';
  return new Fault('no_port', `Cannot listen on ${host}:${port}: ${why}.`, { cause: error });
}
