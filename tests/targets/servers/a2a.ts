import { AgentCard, Task } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import type { Told } from './kind.ts';
import { asDocument, bearerOf, type Protocol, requires, sendJson, textAt } from './protocol-server.ts';

/** The published server library answers, for either version of the protocol. */
const agent = (version: '1.0' | '0.3'): Protocol => ({
  name: `a2a ${version}`,
  can: { tools: 'nothing', usage: false, model: false, failure: true, stream: false },
  declaration: url => ({
    kind: 'a2a',
    url: `${url}/a2a`,
    auth: { bearer: '${env:AGENT_TOKEN}' },
    ...(version === '0.3' && { protocol: version }),
  }),
  framed: asDocument,
  speak: () => ({
    hear(asked) {
      requires(bearerOf(asked), 'bearer token');
      requires(asked.method === 'POST' && asked.path === '/a2a', 'path');
      requires(asked.headers['a2a-version'] === version, 'A2A-Version');
      return textAt(asked.body, 'params', 'message', 'parts', 0, 'text');
    },
    async answer(told, { body }, response) {
      const handler = new DefaultRequestHandler(CARD, new InMemoryTaskStore(), executorOf(told));
      const context = new ServerCallContext({ requestedVersion: version });
      const transport =
        version === '1.0' ? new JsonRpcTransportHandler(handler) : new LegacyJsonRpcTransportHandler(handler);
      sendJson(response, await transport.handle(body, context));
    },
  }),
});

export const a2a = agent('1.0');
export const a2aOld = agent('0.3');

const CARD = AgentCard.fromJSON({
  name: 'desk',
  description: 'answers questions about orders',
  version: '1',
  supportedInterfaces: ['1.0', '0.3'].map(protocolVersion => ({
    url: 'http://127.0.0.1/a2a',
    protocolBinding: 'JSONRPC',
    protocolVersion,
  })),
  capabilities: { streaming: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
});

function executorOf({ text, failure }: Told): AgentExecutor {
  return {
    async execute({ taskId, contextId }, bus) {
      const said = { messageId: 'said', role: 'ROLE_AGENT', taskId, contextId, parts: [{ text: failure ?? '' }] };
      bus.publish(
        AgentEvent.task(
          Task.fromJSON({
            id: taskId,
            contextId,
            status:
              failure === undefined ? { state: 'TASK_STATE_COMPLETED' } : { state: 'TASK_STATE_FAILED', message: said },
            artifacts: failure === undefined ? [{ artifactId: 'answer', parts: [{ text }] }] : [],
          }),
        ),
      );
      bus.finished();
    },
    cancelTask: () => Promise.resolve(),
  };
}
