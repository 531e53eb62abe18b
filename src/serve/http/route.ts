import type { infer as Infer } from 'zod/mini';
import type { ServerResponse } from 'node:http';
import type { ServerRole } from '../access/roles.ts';
import type { Identity } from '../access/identity.ts';
import type { Incoming } from '../access/incoming.ts';
import type { Shape } from '../../contracts/shape.ts';
import type { Server } from './server.ts';

/** One thing that the server answers. The application, the role tests and the OpenAPI document are made from routes. */
export interface Route {
  /** The name in the OpenAPI document and in the audit log, such as `cancelRun`. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Such as `/v1/runs/{run_id}/cancel`. */
  readonly path: string;
  /** The lowest role that may ask; `anyone` needs no identity. */
  readonly role: ServerRole | 'anyone';
  /** What it does, in one sentence. */
  readonly why: string;
  /** Workers ask many times a minute, so the audit log has only refusals. */
  readonly isRoutine?: true;
  readonly params?: Shape;
  /** The values of a query are texts. */
  readonly query?: Shape;
  /** The shape of a JSON body, or an upload that the route reads itself. */
  readonly body?: Shape | Upload;
  /** The most bytes of a JSON body; 1 MiB by default. */
  readonly bodyBytesMax?: number;
  /** The shape of the JSON answer, or another media type. */
  readonly gives: Shape | Media;
  /** The status of a successful answer; 200 by default. */
  readonly status?: 200 | 201 | 202 | 204 | 302;
  /** The status of the same answer while the act still goes on. */
  readonly unfinishedStatus?: 202;
  /** The codes with which it refuses, and their statuses. Every route may also refuse with the codes in `refusal.ts`. */
  readonly refuses?: Readonly<Record<string, RefusalStatus>>;
  act(input: RouteInput, asking: RouteContext): unknown;
  /** The path of what an answer says was made, such as a token, for the audit log. */
  made?(value: unknown): string;
}

export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 410 | 413 | 422 | 429 | 500 | 503;

/** A body that is not JSON. The route reads it as a stream. */
export interface Upload {
  readonly upload: readonly string[];
  /** The shape of the body if it is sent as application/json. */
  readonly json?: Shape;
  readonly bytesMax: number;
}

/** An answer that is not JSON. */
interface Media {
  readonly media: string;
}

export interface RouteInput {
  readonly params: never;
  readonly query: never;
  readonly body: never;
}

/** Who asks, and of which server. */
export interface RouteContext {
  readonly server: Server;
  readonly who: Identity;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  readonly request: Request;
  /** The request as it came over the wire. */
  readonly incoming: Incoming;
  /** Links the answer, the log and the audit log. */
  readonly correlationId: string;
}

/** A file or a text to send as it is. */
export class Content {
  readonly bytes: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(bytes: Content['bytes'], headers: Readonly<Record<string, string>>) {
    this.bytes = bytes;
    this.headers = headers;
  }
}

/** A text that is JSON already. */
export const jsonContent = (text: string): Content =>
  new Content(text, { 'content-type': 'application/json; charset=utf-8' });

/** An answer that writes to the connection itself, such as a stream of events. */
export class Streamed {
  readonly start: (to: ServerResponse) => void;

  constructor(start: (to: ServerResponse) => void) {
    this.start = start;
  }
}

type Value<S> = S extends Shape ? Infer<S> : undefined;

/** Declares a route. Its `act` gets the values that its shapes describe. */
export function route<
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Shape | Upload | undefined = undefined,
>(
  declared: Omit<Route, 'params' | 'query' | 'body' | 'act'> & {
    readonly params?: P;
    readonly query?: Q;
    readonly body?: B;
    act(input: { params: Value<P>; query: Value<Q>; body: Value<B> }, asking: RouteContext): unknown;
  },
): Route {
  return declared as unknown as Route;
}

/** What an ordered run is called in the audit log. */
export const madeRun = (value: unknown): string => `/v1/runs/${(value as { readonly run_id: string }).run_id}`;
