import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { printable } from '../../base/printable.ts';
import { formOf } from '../../contracts/form.ts';
import type { Shape } from '../../contracts/shape.ts';
import type { Route, RouteInput, Upload } from './route.ts';

/** Reads and checks everything that a route takes. Throws a fault that names the first wrong key. */
export async function inputOf(route: Route, request: Request, params: Record<string, string>): Promise<RouteInput> {
  const hasQuery = request.url.includes('?');
  const query = hasQuery ? Object.fromEntries(new URL(request.url).searchParams) : {};
  const input = {
    params: route.params && checkedInput(route.params, params, 'path'),
    query: checkedInput(route.query, query, 'query'),
    body:
      isUpload(route.body) || !route.body
        ? undefined
        : checkedInput(route.body, await jsonOf(request, route.bodyBytesMax), 'body'),
  };
  return input as unknown as RouteInput;
}

export function isUpload(body: Route['body']): body is Upload {
  return body !== undefined && 'upload' in body;
}

export function checkedInput(shape: Shape | undefined, value: unknown, part: string): unknown {
  if (!shape) {
    const [key] = Object.keys(value as object);
    if (key !== undefined) throw invalid(`The ${part} takes no key "${printable(key)}".`);
    return undefined;
  }
  const form = formOf(shape);
  for (const { path, message } of form.faults(value, ''))
    throw invalid(path === '' ? `The ${part} ${message}.` : `In the ${part}, ${printable(path)} ${message}.`);
  for (const { key, known } of form.unknown(value, ''))
    throw invalid(`The ${part} has an unknown key "${printable(key)}".${didYouMean(key, known.keys())}`);
  return value;
}

async function jsonOf(request: Request, bytesMax = JSON_BYTES_MAX): Promise<unknown> {
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers.get('content-type') ?? ''))
    throw invalid('Send the body as application/json.');
  const bytes = await bodyBytes(request, bytesMax);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw invalid('The body is not valid JSON.');
  }
}

/** Reads a body up to a limit. The stated length is only a first check: a body may be longer than it says. */
export async function bodyBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const tooLarge = new Fault('body_too_large', `The body is larger than ${bytesMax} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw tooLarge;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** The key with which a client repeats an order; undefined without one. */
export function idempotencyKey(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key') ?? undefined;
  if (key !== undefined && !/^[\x21-\x7e]{1,200}$/.test(key))
    throw invalid('The idempotency-key must be 1 to 200 printable characters.');
  return key;
}

const JSON_BYTES_MAX = 1024 ** 2;

function invalid(sentence: string): Fault {
  return new Fault('invalid_input', sentence);
}
