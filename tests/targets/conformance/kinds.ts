import { a2a, a2aOld } from '../servers/a2a.ts';
import { agUi } from '../servers/ag-ui.ts';
import { anthropicMessages, anthropicMessagesStream } from '../servers/anthropic.ts';
import { httpJson, httpNdjson, httpPoll, httpSession, httpSse } from '../servers/http-apis.ts';
import { langgraph } from '../servers/langgraph.ts';
import { openaiChat, openaiChatStream, openaiResponses, openaiResponsesStream } from '../servers/openai.ts';
import type { OwnTransport } from '../servers/kind.ts';
import { mcpHttp, mcpStdio } from '../servers/mcp.ts';
import { proctorAgent } from '../servers/proctor-agent.ts';
import { command, functionAgent } from '../servers/programs.ts';
import type { Protocol } from '../servers/protocol-server.ts';
import { websocket } from '../servers/websocket.ts';

/** Every kind of target that is reached by HTTP requests. */
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
  mcpHttp,
];

/** Every kind of target. */
export const KINDS: readonly (Protocol | OwnTransport)[] = [...PROTOCOLS, websocket, mcpStdio, command, functionAgent];
