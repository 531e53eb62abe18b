import { readJson } from '../base/json.ts';
import { VERSION } from '../base/version.ts';
import { isObject } from '../contracts/kind.ts';

/** The revision without sessions. Every request states its version and what the client can do. */
export const MODERN_REVISION = '2026-07-28';

/** The revisions with `initialize`, newest first. */
const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

export interface RpcRequest {
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A JSON-RPC message, as far as Proctor reads it. Its values are whatever the server sent. */
export type RpcMessage = Readonly<Record<string, unknown>>;

/** The text of a request. A request without an id is a notification. */
export function rpcText(request: Omit<RpcRequest, 'id'> & { readonly id?: number }, isModern: boolean): string {
  const { id, method, params } = request;
  const told = isModern ? { ...params, _meta: META } : params;
  return JSON.stringify({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    method,
    ...(Object.keys(told).length > 0 && { params: told }),
  });
}

const CLIENT = { name: 'proctor', version: VERSION };

const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN_REVISION,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
};

export const initializeParams = (revision: string): RpcRequest['params'] => ({
  protocolVersion: revision,
  capabilities: {},
  clientInfo: CLIENT,
});

/** Undefined if the bytes are not one JSON object. */
export function readRpc(bytes: Uint8Array): RpcMessage | undefined {
  const reading = readJson(bytes, { bytesMax: bytes.length });
  return reading.ok && isObject(reading.value) ? reading.value : undefined;
}

/** Whether a message is the response to a request. A server that could not read the id sends an error with null. */
export function isResponseTo(id: number, message: RpcMessage): boolean {
  if (!('result' in message) && !('error' in message)) return false;
  return message['id'] === id || (message['id'] === null && 'error' in message);
}

/** What to answer to a request of the server: Proctor offers no samples, roots or forms. Undefined for a notification. */
export function replyToServer({ id, method }: RpcMessage): string | undefined {
  if (typeof method !== 'string' || (typeof id !== 'string' && typeof id !== 'number')) return undefined;
  const outcome =
    method === 'ping' ? { result: {} } : { error: { code: METHOD_NOT_FOUND, message: 'Method not found' } };
  return JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
}

const METHOD_NOT_FOUND = -32601;
const UNSUPPORTED_VERSION = -32022;
/** Errors that only servers of the modern revision send, besides the one above. */
const MODERN_ERRORS: ReadonlySet<unknown> = new Set([-32020, -32021]);

/** Which revision to speak. */
export type Revision = { readonly is: 'modern' } | { readonly is: 'legacy'; readonly revision: string };

/**
 * The revision of a server, by its response to `server/discover`. Servers before that method answer with any error, or
 * not at all. Null if the server supports no revision that Proctor knows.
 */
export function revisionOf(response: RpcMessage | undefined): Revision | null {
  const code = rpcErrorCode(response);
  if (MODERN_ERRORS.has(code)) return { is: 'modern' };
  const listed =
    code === UNSUPPORTED_VERSION
      ? member(member(response?.['error'], 'data'), 'supported')
      : rpcResult(response)['supportedVersions'];
  if (!Array.isArray(listed))
    return code === UNSUPPORTED_VERSION ? null : { is: 'legacy', revision: LEGACY_REVISIONS[0] };
  if (listed.includes(MODERN_REVISION) && code !== UNSUPPORTED_VERSION) return { is: 'modern' };
  const revision = LEGACY_REVISIONS.find(known => listed.includes(known));
  return revision === undefined ? null : { is: 'legacy', revision };
}

/** The revision that a server chose in its response to `initialize`; undefined if Proctor does not know it. */
export function chosenRevision(response: RpcMessage | undefined): string | undefined {
  const { protocolVersion } = rpcResult(response);
  return LEGACY_REVISIONS.find(known => known === protocolVersion);
}

export function rpcErrorCode(response: RpcMessage | undefined): unknown {
  return member(response?.['error'], 'code');
}

/** The result of a response; empty if it has none. */
export function rpcResult(response: RpcMessage | undefined): Readonly<Record<string, unknown>> {
  const result = response?.['result'];
  return isObject(result) ? result : {};
}

function member(holder: unknown, key: string): unknown {
  return isObject(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
}
