import { randomInt } from 'node:crypto';
import { connect, createServer, type Server } from 'node:net';
import { codeOf, Fault } from '../../base/fault.ts';

/**
 * A TCP port that nothing on this machine uses, over IPv4 or IPv6. Never the same port twice. Systems give ports from 32768
 * to every connection, so one of those could be in use before the agent listens on it.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = randomInt(PORT_MIN, PORT_END);
    if (given.has(port)) continue;
    if ((await openBriefly('127.0.0.1', port)) === undefined) continue;
    if ((await openBriefly('::1', port)) === undefined) continue;
    if (given.size >= GIVEN_MAX) given.clear();
    given.add(port);
    return port;
  }
  throw new Fault('no_free_port', 'This machine has no free TCP port for the agent.');
}

const ATTEMPTS_MAX = 100;
const PORT_MIN = 20_000;
const PORT_END = 32_768;
/** An agent may not listen on its port yet when the next one is chosen. */
const given = new Set<number>();
const GIVEN_MAX = 1_000;

/** Listens and closes again. Returns the port, or undefined if it is in use. */
function openBriefly(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server: Server = createServer();
    server.once('error', error => {
      if (codeOf(error) === 'EADDRINUSE') resolve(undefined);
      // Without IPv6, nothing can listen there.
      else if (host === '::1') resolve(port);
      else reject(new Fault('no_free_port', 'Proctor cannot listen on 127.0.0.1.', { cause: error }));
    });
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      const opened = address !== null && typeof address === 'object' ? address.port : port;
      server.close(() => resolve(opened));
    });
  });
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Whether a TCP connection succeeds. False if `signal` aborts first. */
export function isListening({ host, port }: Address, signal: AbortSignal): Promise<boolean> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve(false);
    const socket = connect({ host, port });
    const settle = (isOpen: boolean): void => {
      signal.removeEventListener('abort', fail);
      socket.destroy();
      resolve(isOpen);
    };
    const fail = (): void => settle(false);
    signal.addEventListener('abort', fail);
    socket.once('connect', () => settle(true));
    socket.on('error', fail);
  });
}
