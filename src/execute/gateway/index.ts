import type { Api } from '../../contracts/recording/index.ts';
import { anthropic } from './anthropic.ts';
import type { Gateway } from './gateway.ts';
import { gemini } from './gemini.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';

/**
 * All supported APIs. Recordings call the Responses API `openai`, because it was the first OpenAI API that Proctor
 * supported.
 */
export const GATEWAYS: Readonly<Record<Api, Gateway>> = {
  anthropic,
  openai: openaiResponses,
  'openai-chat': openaiChat,
  gemini,
};
