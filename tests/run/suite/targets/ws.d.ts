/** The part of ws that tests use. The package has no types of its own. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage, Server } from 'node:http';

  export class WebSocket extends EventEmitter {
    send(data: string | Buffer, options?: { fin?: boolean; compress?: boolean; binary?: boolean }): void;
    close(code?: number, reason?: string): void;
    terminate(): void;
    on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): this;
    on(event: 'close' | 'error', listener: () => void): this;
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: { server: Server; perMessageDeflate?: boolean });
    on(event: 'connection', listener: (socket: WebSocket, request: IncomingMessage) => void): this;
    close(): void;
  }
}
