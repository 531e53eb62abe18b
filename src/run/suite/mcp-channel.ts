import type { HttpAnswer } from '../../execute/http.ts';
import type { RpcMessage, RpcRequest } from '../../targets/mcp.ts';
import type { ResponseFailure } from './http-failure.ts';

/** A connection to an MCP server: HTTP requests, or the standard streams of a program. */
export interface McpChannel {
  /** Sends a request, and waits for its response. */
  request(request: McpRequest): Promise<McpAnswer>;
  /** Sends a notification. */
  notify(method: string, request: McpContext): Promise<void>;
  /** Changes when the server was started again. It then knows nothing of what happened before. */
  readonly generation: number;
  /** Ends a session that the server has opened. */
  leave(session: string, revision: string): Promise<void>;
  cancel(): void;
}

export interface McpContext {
  /** Undefined for the revision without sessions. */
  readonly revision: string | undefined;
  readonly session?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
}

export interface McpRequest extends McpContext, Omit<RpcRequest, 'id'> {
  /** For HTTP, the value of the header Mcp-Name. */
  readonly name?: string;
}

export interface McpAnswer {
  /** Its body is the response message, or everything received if there is no response. */
  readonly answer: HttpAnswer;
  readonly failure: ResponseFailure | undefined;
  readonly response: RpcMessage | undefined;
  /** A server that does not know the revision answers with this failure. */
  readonly mayBeLegacy: boolean;
}

/** A server may send this many other messages before a response. */
export const OTHER_MESSAGES_MAX = 1_000;

export const TOO_MANY_MESSAGES: ResponseFailure = {
  class: 'schema_mismatch',
  message: `The server sent more than ${OTHER_MESSAGES_MAX.toLocaleString('en-US')} messages before its response.`,
  errorName: 'TOO_MANY_MESSAGES',
  mayRetry: false,
};
