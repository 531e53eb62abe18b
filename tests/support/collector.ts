import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as the collector received it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly isError: boolean;
}

interface ReceivedRequest {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers a request; by default with 200 and an empty object. */
type Behaviour = (response: ServerResponse, times: number) => void;

/** An OTLP collector on loopback, which keeps what it receives. */
export class TestCollector {
  readonly requests: ReceivedRequest[] = [];
  readonly #server;

  constructor(behave: Behaviour = accepts) {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        this.requests.push({ url: request.url, headers: request.headers, body: Buffer.concat(pieces).toString() });
        behave(response, this.requests.length);
      });
    });
  }

  /** Returns the base endpoint. */
  async start(): Promise<string> {
    await new Promise<void>(resolve => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => {
      this.#server.close(resolve);
    });
  }

  get spans(): ReceivedSpan[] {
    return this.requests.flatMap(({ body }) => spansIn(body));
  }

  /** Everything it received, to search for what must not be there. */
  get text(): string {
    return this.requests.map(({ body }) => body).join('\n');
  }

  /** The only span with this name, or the only one below `parent`. */
  one(name: string, parent?: ReceivedSpan): ReceivedSpan {
    const found = this.all(name, parent);
    const [span] = found;
    if (found.length !== 1 || !span) throw new Error(`${found.length} spans are called ${name}`);
    return span;
  }

  all(name: string, parent?: ReceivedSpan): ReceivedSpan[] {
    return this.spans.filter(span => span.name === name && (!parent || span.parentSpanId === parent.spanId));
  }
}

export function accepts(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code: number };
}

/** Parses a request strictly: a wrong id, enum or time throws. */
export function spansIn(body: string): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(spanIn)));
}

function spanIn({ traceId, spanId, parentSpanId, name, kind, attributes, status, ...times }: OtlpSpan): ReceivedSpan {
  if (!/^[0-9a-f]{32}$/.test(traceId) || !/^[0-9a-f]{16}$/.test(spanId)) throw new Error('an id is not hexadecimal');
  if (parentSpanId !== undefined && !/^[0-9a-f]{16}$/.test(parentSpanId))
    throw new Error('a parent is not hexadecimal');
  if (!Number.isInteger(kind) || ![0, 1, 2].includes(status.code)) throw new Error('an enum is not a number');
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startMs: msIn(times.startTimeUnixNano),
    endMs: msIn(times.endTimeUnixNano),
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, valueIn(value)])),
    isError: status.code === 2,
  };
}

function msIn(nanoseconds: string): number {
  if (!/^[1-9]\d{18}$/.test(nanoseconds)) throw new Error('a time is not in nanoseconds');
  return Number(BigInt(nanoseconds) / 1_000n) / 1_000;
}

function valueIn({ stringValue, intValue, doubleValue, boolValue }: Readonly<Record<string, unknown>>) {
  if (typeof intValue === 'string' && /^-?\d+$/.test(intValue)) return Number(intValue);
  const value = stringValue ?? doubleValue ?? boolValue;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw new Error('a value has no known type');
  return value;
}
