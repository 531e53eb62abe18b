import type { DeclarationOf, DeclaredKind, TargetDeclaration } from '../../contracts/target/index.ts';
import { a2a } from './a2a.ts';
import { agUi } from './ag-ui.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import { commandReply } from './command.ts';
import { functionReply } from './function.ts';
import { http } from './http.ts';
import type { ApiKind, ApiRequest, ReplyForm } from './kind.ts';
import { langgraph } from './langgraph.ts';
import { mcpToolReply } from './mcp-tool.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { websocketReply } from './websocket.ts';

/** The kinds whose question is one HTTP request and whose reply is its body. */
const API_KINDS = {
  http,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
  langgraph,
  a2a,
  'ag-ui': agUi,
} satisfies { readonly [Kind in DeclaredKind]?: ApiKind<Kind> };

type ApiKindName = keyof typeof API_KINDS;

/** How to read the replies of every kind; undefined for Proctor's own form. */
const REPLY_FORMS: { readonly [Kind in DeclaredKind]: (declaration: DeclarationOf<Kind>) => ReplyForm | undefined } = {
  proctor: () => undefined,
  http: http.reply,
  'openai-chat': openaiChat.reply,
  'openai-responses': openaiResponses.reply,
  'anthropic-messages': anthropicMessages.reply,
  langgraph: langgraph.reply,
  a2a: a2a.reply,
  'ag-ui': agUi.reply,
  'mcp-tool': mcpToolReply,
  websocket: websocketReply,
  command: commandReply,
  function: functionReply,
};

export type ApiDeclaration = Extract<TargetDeclaration, { kind: ApiKindName }>;

export function isApi(declaration: TargetDeclaration): declaration is ApiDeclaration {
  return Object.hasOwn(API_KINDS, declaration.kind);
}

export function apiRequestOf(declaration: ApiDeclaration): ApiRequest {
  return (API_KINDS[declaration.kind].request as (declaration: ApiDeclaration) => ApiRequest)(declaration);
}

export function replyFormOf(declaration: TargetDeclaration): ReplyForm | undefined {
  return (REPLY_FORMS[declaration.kind] as (declaration: TargetDeclaration) => ReplyForm | undefined)(declaration);
}
