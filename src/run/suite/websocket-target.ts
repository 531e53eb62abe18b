import { monotonicMs } from '../../base/clock.ts';
import { maskingOf } from '../../base/masker.ts';
import { type SocketAnswer, WebSocketClient } from '../../execute/websocket.ts';
import { CallError } from '../../targets/calls.ts';
import type { ConversationCalls } from '../../targets/conversation.ts';
import { FRAMES_MAX } from '../../targets/mapping/frames.ts';
import type { TemplateValues } from '../../targets/mapping/template-names.ts';
import { checkedAddress, type DeclaredApi, notSent } from './declared-target.ts';
import { questionValues } from './question-values.ts';
import { type AskedApi, withAddress } from './failure-hints.ts';
import { type ResponseFailure, responseFailure } from './http-failure.ts';
import { judgedAnswer, roundedMs } from './http-target.ts';
import type { SuiteSettings } from './settings.ts';
import type { AttemptResult, CaseQuestion, Target } from './target.ts';
import { traceHeaders } from './trace-headers.ts';

export interface WebSocketApi extends Omit<DeclaredApi, 'calls' | 'stream'> {
  readonly calls: ConversationCalls;
}

/** Asks a server over WebSockets. Every attempt has its own connection. */
export function websocketTarget(api: WebSocketApi): Target {
  const { calls, settings } = api;
  const fixed: TemplateValues = {
    env: api.variable,
    side: api.side,
    run: { id: api.runId },
    ...(api.port !== undefined && { port: api.port }),
  };
  const { href: url, pathname } = checkedAddress(calls.url(fixed), 'ws');
  const client = new WebSocketClient();
  const masking = maskingOf(api.secrets, api.keepCredentials);
  const converse = async (values: TemplateValues, trace: string | undefined): Promise<SocketAnswer> => {
    const headers = calls.headers(values);
    const messages = calls.messages(values);
    const answer = await client.converse({
      url,
      headers: { ...headers, ...traceHeaders(trace, headers) },
      messages,
      isLast: calls.isLast,
      deadlineMs: settings.timeoutMs,
      idleMs: settings.idleMs,
      bodyBytesMax: settings.bodyBytesMax,
      messagesMax: FRAMES_MAX,
    });
    api.onExchange?.({ method: 'GET', path: pathname, headers, body: messages.join('\n') }, answer);
    return answer;
  };
  return {
    async ask({ one, key, trace }: CaseQuestion): Promise<AttemptResult> {
      const startedMs = monotonicMs();
      try {
        const answer = await converse({ ...fixed, ...questionValues(one, key) }, trace);
        const failure = socketFailure(answer, settings, { url, kind: 'websocket' });
        const outcome = judgedAnswer({ answer, failure, frames: { times: answer.frameMs } }, one.id, api, masking);
        const { latencyMs, status } = answer;
        return { latencyMs: roundedMs(latencyMs), outcome, ...(status !== undefined && { httpStatus: status }) };
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        return { latencyMs: roundedMs(monotonicMs() - startedMs), outcome: notSent(error.message) };
      }
    },
    cancel: () => client.cancel(),
    close: async () => client.close(),
  };
}

/** The failure of a conversation. The status of an open one, 101, is a success. */
function socketFailure(answer: SocketAnswer, settings: SuiteSettings, asked: AskedApi): ResponseFailure | undefined {
  const { errorName = '', isOpened } = answer;
  if (Object.hasOwn(REFUSED, errorName)) {
    return { ...(REFUSED[errorName] as Refusal), errorName, mayRetry: false };
  }
  const code = /^WS_CLOSE_(\d+)$/.exec(errorName)?.[1];
  if (code !== undefined) {
    const message = withAddress(`The agent closed the connection with code ${code}.`, asked);
    return { class: 'network_error', message, errorName, mayRetry: true };
  }
  if (isOpened) return responseFailure({ ...answer, status: 200 }, settings, asked);
  return responseFailure(answer, settings, asked) ?? { ...NOT_OPENED, message: withAddress(NOT_OPENED.message, asked) };
}

const NOT_OPENED: ResponseFailure = {
  class: 'http_error',
  message: 'The agent answered the request, but did not open a WebSocket.',
  mayRetry: false,
};

type Refusal = Pick<ResponseFailure, 'class' | 'message'>;

const REFUSED: Readonly<Record<string, Refusal>> = {
  BINARY_MESSAGE: {
    class: 'schema_mismatch',
    message: 'The agent sent a binary message. Proctor reads only text messages.',
  },
  TOO_MANY_MESSAGES: {
    class: 'schema_mismatch',
    message: `The agent sent more than ${FRAMES_MAX.toLocaleString('en-US')} messages.`,
  },
  WS_PROTOCOL: { class: 'invalid_json', message: 'The agent sent something that the WebSocket protocol forbids.' },
};
