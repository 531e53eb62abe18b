import { a2a, a2aOld } from '../servers/a2a.ts';
import { agUi } from '../servers/ag-ui.ts';
import { anthropicMessages, anthropicMessagesStream } from '../servers/anthropic.ts';
import { httpJson, httpNdjson, httpPoll, httpSession, httpSse } from '../servers/http-apis.ts';
import { langgraph } from '../servers/langgraph.ts';
import { openaiChat, openaiChatStream, openaiResponses, openaiResponsesStream } from '../servers/openai.ts';
import { proctorAgent } from '../servers/proctor-agent.ts';
import type { Protocol } from '../servers/protocol-server.ts';

/**
 * Every kind of target that is reached by HTTP requests. The kinds websocket, mcp-tool, command and function have a
 * transport of their own: a kind joins this list once a server of it can play the scenes.
 */
export const PROTOCOLS: readonly Protocol[] = [
  proctorAgent,
  httpJson,
  httpSse,
  httpNdjson,
  httpPoll,
  httpSession,
  openaiChat,
  openaiChatStream,
  openaiResponses,
  openaiResponsesStream,
  anthropicMessages,
  anthropicMessagesStream,
  langgraph,
  a2a,
  a2aOld,
  agUi,
];
