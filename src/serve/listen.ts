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

/** Opens the port. Every wait for a client has a limit. */
export async function listen(server: Server, host: string, port: number): Promise<Listening> {
  const http = createAdaptorServer({
    fetch: appOf(server, ROUTES).fetch,
    serverOptions: { requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS, maxHeaderSize: HEADER_BYTES_MAX },
  }) as HttpServer;
  http.keepAliveTimeout = KEEP_ALIVE_MS;
  http.maxConnections = CONNECTIONS_MAX;
  http.maxHeadersCount = HEADER_FIELDS_MAX;
  await new Promise<void>((resolve, reject) => {
    http.once('error', error => reject(unlistenable(error, host, port)));
    http.listen(port, host, resolve);
  });
  const address = http.address() as AddressInfo;
  return { host, port: address.port, stop: drainMs => stopped(http, drainMs) };
}

const REQUEST_MS = 300_000;
const HEADERS_MS = 15_000;
const KEEP_ALIVE_MS = 5_000;
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
