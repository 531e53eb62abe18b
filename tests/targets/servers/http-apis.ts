import type { Told } from './kind.ts';
import {
  asDocument,
  type Asked,
  asEvent,
  asLine,
  bearerOf,
  MODEL,
  type Protocol,
  pieces,
  requires,
  sendFrames,
  sendJson,
  sse,
  textAt,
  TOKENS,
} from './protocol-server.ts';

/** APIs that teams design for their own use; no two are alike. */

export const AUTH = { bearer: '${env:AGENT_TOKEN}' };

/** The paths of a trace in one document. */
export const TRACE_EVENTS = (trace: string) => [
  { as: 'tool_call', each: `${trace}[?@.step=='call']`, call_id: '@.n', tool: '@.tool', args: '@.with' },
  {
    as: 'tool_result',
    each: `${trace}[?@.step=='result']`,
    call_id: '@.n',
    status: { path: '@.good', map: { true: 'ok', false: 'error' } },
    latency_ms: '@.ms',
    payload_summary: '@.got',
  },
];

export function traceOf({ calls = [] }: Told): object[] {
  return calls.flatMap(({ id, name, args, result, hasFailed = false }) => [
    { step: 'call', n: id, tool: name, with: args },
    { step: 'result', n: id, good: !hasFailed, ms: 12, got: result },
  ]);
}

export function answerOf(told: Told): object {
  if (told.failure !== undefined) return { problem: told.failure };
  return {
    answer: { text: told.text },
    trace: traceOf(told),
    usage: { read: TOKENS.input, wrote: TOKENS.output },
    served_by: MODEL,
  };
}

export const REPLY = {
  final_output: '$.answer.text',
  events: TRACE_EVENTS('$.trace'),
  usage: { input_tokens: '$.usage.read', output_tokens: '$.usage.wrote' },
  model: '$.served_by',
  failed: '$.problem',
};

export const ALL = { tools: 'results', usage: true, model: true, failure: true } as const;

function authorized(asked: Asked): void {
  requires(bearerOf(asked), 'bearer token');
}

export const httpJson: Protocol = {
  name: 'http',
  can: { ...ALL, stream: false },
  declaration: url => ({
    kind: 'http',
    url: `${url}/v2`,
    auth: AUTH,
    request: {
      path: '/chat/${case.id}',
      query: { side: '${side}' },
      body: { message: '${input.user}', lang: '${input.context.locale}' },
    },
    reply: REPLY,
  }),
  framed: asDocument,
  speak: () => ({
    hear(asked) {
      authorized(asked);
      requires(/^\/v2\/chat\/[\w.-]+\?side=(?:baseline|new)$/.test(asked.path) && asked.method === 'POST', 'path');
      return textAt(asked.body, 'message');
    },
    answer: (told, _asked, response) => sendJson(response, answerOf(told)),
  }),
};

export const httpSse: Protocol = {
  name: 'http (sse)',
  can: { ...ALL, stream: true },
  declaration: url => ({
    kind: 'http',
    url,
    auth: AUTH,
    request: { path: '/stream', body: { message: '${input.user}' } },
    stream: { as: 'sse', first_output: '$[?@.text].text', until: { path: '$.event', in: ['end', 'error'] } },
    reply: {
      final_output: { path: "$.frames[?@.event=='token'].data.text", join: '' },
      events: [
        {
          as: 'tool_call',
          each: "$.frames[?@.event=='tool']",
          ts: '@.at_ms',
          call_id: '@.data.id',
          tool: '@.data.name',
          args: {
            collect: {
              each: "$.frames[?@.event=='piece']",
              key: '@.data.of',
              key_of_item: '@.data.id',
              value: '@.data.json',
            },
            parse: 'json',
          },
        },
        {
          as: 'tool_result',
          each: "$.frames[?@.event=='tool_done']",
          ts: '@.at_ms',
          call_id: '@.data.id',
          status: '@.data.status',
          latency_ms: '@.data.ms',
          payload_summary: '@.data.output',
        },
      ],
      usage: { input_tokens: '$.frames[-1].data.read', output_tokens: '$.frames[-1].data.wrote' },
      model: '$.frames[-1].data.model',
      failed: "$.frames[?@.event=='error'].data.message",
    },
  }),
  framed: asEvent,
  speak: () => ({
    hear(asked) {
      authorized(asked);
      requires(asked.headers.accept === 'text/event-stream', 'accept header');
      return textAt(asked.body, 'message');
    },
    answer: (told, _asked, response) => sendFrames(response, eventsOf(told)),
  }),
};

function eventsOf({ text, calls = [], failure }: Told): string[] {
  if (failure !== undefined) return [': hello\n\n', sse({ message: failure }, 'error')];
  return [
    ': hello\n\n',
    ...calls.flatMap(({ id, name, args, result, hasFailed }) => [
      sse({ id, name }, 'tool'),
      ...pieces(JSON.stringify(args)).map(json => sse({ of: id, json }, 'piece')),
      sse({ id, status: hasFailed ? 'error' : 'ok', ms: 12, output: result }, 'tool_done'),
    ]),
    ...piecesOrEmpty(text).map(piece => sse({ text: piece }, 'token')),
    sse({ read: TOKENS.input, wrote: TOKENS.output, model: MODEL }, 'end'),
  ];
}

export const httpNdjson: Protocol = {
  name: 'http (ndjson)',
  can: { ...ALL, stream: true },
  declaration: url => ({
    kind: 'http',
    url,
    auth: AUTH,
    request: { method: 'PUT', path: '/lines', body: { message: '${input.user}' } },
    stream: { as: 'ndjson', first_output: '$.data.text' },
    reply: {
      final_output: { path: '$.frames[*].data.text', join: '' },
      events: TRACE_EVENTS('$.frames[*].data.trace'),
      usage: { input_tokens: '$.frames[*].data.read', output_tokens: '$.frames[*].data.wrote' },
      model: '$.frames[*].data.served_by',
      failed: '$.frames[*].data.problem',
    },
  }),
  framed: asLine,
  speak: () => ({
    hear(asked) {
      authorized(asked);
      requires(asked.method === 'PUT' && asked.path === '/lines', 'path');
      return textAt(asked.body, 'message');
    },
    answer: (told, _asked, response) => sendFrames(response, linesOf(told), 'application/x-ndjson'),
  }),
};

function linesOf(told: Told): string[] {
  const line = (value: object): string => `${JSON.stringify(value)}\n`;
  if (told.failure !== undefined) return [line({ problem: told.failure })];
  return [
    line({ trace: traceOf(told) }),
    ...piecesOrEmpty(told.text).map(text => line({ text })),
    line({ read: TOKENS.input, wrote: TOKENS.output, served_by: MODEL }),
  ];
}

export const piecesOrEmpty = (text: string): string[] => (text === '' ? [''] : pieces(text));

/** A job that is polled: queued, then running, then over. */
export const httpPoll: Protocol = {
  name: 'http (poll)',
  can: { ...ALL, stream: false },
  declaration: url => ({
    kind: 'http',
    url,
    auth: AUTH,
    request: { path: '/jobs', body: { task: '${input.user}', key: '${attempt.key}' } },
    poll: {
      id: '$.job.id',
      path: '/jobs/${poll.id}',
      every: '10ms',
      until: { path: '$.state', in: ['done', 'failed'] },
    },
    reply: {
      final_output: '$.result.answer.text',
      events: TRACE_EVENTS('$.result.trace'),
      usage: { input_tokens: '$.result.usage.read', output_tokens: '$.result.usage.wrote' },
      model: '$.result.served_by',
      failed: '$.result.problem',
    },
  }),
  framed: asDocument,
  speak: () => {
    const jobs = new Map<string, { readonly task: string; polls: number }>();
    return {
      hear(asked, response) {
        authorized(asked);
        if (asked.method === 'POST') {
          const id = `job ${jobs.size}/é`;
          jobs.set(id, { task: textAt(asked.body, 'task'), polls: 0 });
          sendJson(response, { job: { id }, state: 'queued' }, 202);
          return undefined;
        }
        const job = jobs.get(decodeURIComponent(asked.path.slice('/jobs/'.length)));
        requires(job, 'job');
        if (++job.polls === 2) return job.task;
        sendJson(response, { state: 'running' });
        return undefined;
      },
      answer: (told, _asked, response) =>
        sendJson(response, { state: told.failure === undefined ? 'done' : 'failed', result: answerOf(told) }),
    };
  },
};

/** A conversation that has to be opened, on a service that is reset before every attempt. */
export const httpSession: Protocol = {
  name: 'http (session and reset)',
  can: { ...ALL, stream: false },
  declaration: url => ({
    kind: 'http',
    url,
    auth: AUTH,
    reset: { method: 'DELETE', path: '/memory/${case.id}' },
    session: { request: { path: '/conversations', body: { for: '${case.id}' } }, take: '$.conversation.id' },
    request: { path: '/conversations/${session.id}/messages', body: { text: '${input.user}' } },
    reply: REPLY,
  }),
  framed: asDocument,
  speak: () => {
    const clean = new Set<string>();
    const open = new Set<string>();
    return {
      hear(asked, response) {
        authorized(asked);
        if (asked.method === 'DELETE') {
          clean.add(asked.path.slice('/memory/'.length));
          response.writeHead(204).end();
          return undefined;
        }
        if (asked.path === '/conversations') {
          requires(clean.delete(textAt(asked.body, 'for')), 'reset before it');
          open.add(`c${open.size}`);
          sendJson(response, { conversation: { id: `c${open.size - 1}` } }, 201);
          return undefined;
        }
        requires(open.has(asked.path.split('/')[2] ?? ''), 'conversation');
        return textAt(asked.body, 'text');
      },
      answer: (told, _asked, response) => sendJson(response, answerOf(told)),
    };
  },
};
