import type { DeclarationOf, DeclaredKind, TargetDeclaration } from '../../contracts/target/index.ts';
import { a2aKind } from './a2a.ts';
import { agUiKind } from './ag-ui.ts';
import { anthropicMessagesKind } from './anthropic-messages.ts';
import { commandReply } from './command.ts';
import { functionReply } from './function.ts';
import { httpKind } from './http.ts';
import type { ApiKind, ApiRequest, ReplyForm } from './kind.ts';
import { langgraphKind } from './langgraph.ts';
import { mcpToolReply } from './mcp-tool.ts';
import { openaiChatKind } from './openai-chat.ts';
import { openaiResponsesKind } from './openai-responses.ts';
import { proctorKind } from './proctor.ts';
import { websocketReply } from './websocket.ts';

/** The kinds whose question is one HTTP request and whose reply is its body. */
const API_KINDS = {
  proctor: proctorKind,
  http: httpKind,
  'openai-chat': openaiChatKind,
  'openai-responses': openaiResponsesKind,
  'anthropic-messages': anthropicMessagesKind,
  langgraph: langgraphKind,
  a2a: a2aKind,
  'ag-ui': agUiKind,
} satisfies { readonly [Kind in DeclaredKind]?: ApiKind<Kind> };

type ApiKindName = keyof typeof API_KINDS;

/** How to read the replies of every kind; undefined for Proctor's own form. */
const REPLY_FORMS: { readonly [Kind in DeclaredKind]: (declaration: DeclarationOf<Kind>) => ReplyForm | undefined } = {
  proctor: proctorKind.reply,
  http: httpKind.reply,
  'openai-chat': openaiChatKind.reply,
  'openai-responses': openaiResponsesKind.reply,
  'anthropic-messages': anthropicMessagesKind.reply,
  langgraph: langgraphKind.reply,
  a2a: a2aKind.reply,
  'ag-ui': agUiKind.reply,
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
