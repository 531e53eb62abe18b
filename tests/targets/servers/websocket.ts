import { setTimeout as wait } from 'node:timers/promises';
import { type Talk, WebSocketAgent } from '../../run/suite/targets/websocket-agent.ts';
import { ALL, AUTH, piecesOrEmpty, TRACE_EVENTS, traceOf } from './http-apis.ts';
import type { OwnTransport, Stage, Told } from './kind.ts';
import { MODEL, requires, textAt, TOKENS } from './protocol-server.ts';

/** A custom agent that sends its answer as messages. */
export const websocket: OwnTransport = {
  name: 'websocket',
  can: { ...ALL, stream: true },
  crashClass: 'network_error',
  declaration: url => ({
    kind: 'websocket',
    url: `${url}/talk`,
    auth: AUTH,
    send: ['hello', { question: '${input.user}', session: '${session.id}' }],
    until: { path: '$.type', in: ['done', 'error'] },
    first_output: '$.data.text',
    reply: {
      final_output: { path: "$.frames[?@.data.type=='token'].data.text", join: '' },
      events: TRACE_EVENTS('$.frames[*].data.trace'),
      usage: { input_tokens: '$.frames[-1].data.read', output_tokens: '$.frames[-1].data.wrote' },
      model: '$.frames[-1].data.served_by',
      failed: "$.frames[?@.data.type=='error'].data.message",
    },
  }),
  stage: scenes => new WebSocketStage(scenes),
};

class WebSocketStage implements Stage {
  readonly refused: string[] = [];
  readonly #scenes: Readonly<Record<string, Told>>;
  readonly #agent = new WebSocketAgent({ '': (message, talk) => void this.#hear(message, talk) });

  constructor(scenes: Readonly<Record<string, Told>>) {
    this.#scenes = scenes;
  }

  start(): Promise<string> {
    return this.#agent.start();
  }

  get asked(): NonNullable<Stage['asked']> {
    return this.#agent.talks;
  }

  async #hear(message: string, talk: Talk): Promise<void> {
    if (message === 'hello') return;
    try {
      requires(/^Bearer .+$/.test(talk.headers.authorization ?? ''), 'bearer token');
      const asked: unknown = JSON.parse(message);
      textAt(asked, 'session');
      const scene = this.#scenes[textAt(asked, 'question').split(' ', 1)[0] ?? ''];
      requires(scene, 'scene');
      await play(scene, talk);
    } catch (error) {
      this.refused.push(String(error));
      talk.socket.close(UNSUPPORTED);
    }
  }
}

const UNSUPPORTED = 1003;
const INTERNAL_ERROR = 1011;

async function play(told: Told, { socket }: Talk): Promise<void> {
  if (told.crash !== undefined) return socket.close(INTERNAL_ERROR, told.crash);
  for (const message of messagesOf(told)) {
    socket.send(JSON.stringify(message));
    await wait(PAUSE_MS);
  }
}

/** Messages arrive at different times. */
const PAUSE_MS = 3;

function messagesOf(told: Told): object[] {
  if (told.failure !== undefined) return [{ type: 'error', message: told.failure }];
  return [
    { type: 'trace', trace: traceOf(told) },
    ...piecesOrEmpty(told.text).map(text => ({ type: 'token', text })),
    { type: 'done', read: TOKENS.input, wrote: TOKENS.output, served_by: MODEL },
  ];
}
