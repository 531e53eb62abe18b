import { isObject } from '../contracts/kind.ts';
import { rpcErrorCode, rpcResult, type RpcMessage } from './mcp.ts';

/** The value of an MCP header. Text that a header cannot contain is encoded as the protocol requires. */
export function mcpHeaderValue(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** Whether a server misses headers that repeat arguments of the tool. It then did not call the tool. */
export function missesHeaders(response: RpcMessage | undefined): boolean {
  return rpcErrorCode(response) === HEADER_MISMATCH;
}

const HEADER_MISMATCH = -32020;

/** One page of `tools/list`: the tool, if it is on it, and the cursor of the next page. */
export function toolInPage(
  response: RpcMessage | undefined,
  name: string,
): { readonly schema?: unknown; readonly next?: string } {
  const { tools, nextCursor } = rpcResult(response);
  const found = Array.isArray(tools) ? tools.find(tool => isObject(tool) && tool['name'] === name) : undefined;
  if (isObject(found)) return { schema: found['inputSchema'] };
  return typeof nextCursor === 'string' && nextCursor !== '' ? { next: nextCursor } : {};
}

/** The headers for arguments that the schema of a tool marks with `x-mcp-header`. */
export function argumentHeaders(schema: unknown, given: unknown, depth = 0): Record<string, string> {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!isObject(properties) || !isObject(given) || depth > DEPTH_MAX) return {};
  const headers: Record<string, string> = {};
  for (const [key, property] of Object.entries(properties)) {
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    const name = isObject(property) ? property['x-mcp-header'] : undefined;
    if (typeof name === 'string' && HEADER_NAME.test(name) && isPlain(value)) {
      headers[`mcp-param-${name.toLowerCase()}`] = mcpHeaderValue(String(value));
    }
    Object.assign(headers, argumentHeaders(property, value, depth + 1));
  }
  return headers;
}

const DEPTH_MAX = 20;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
