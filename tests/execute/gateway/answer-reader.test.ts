import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AnswerReader } from '../../../src/execute/gateway/answer-reader.ts';
import type { AnswerPart } from '../../../src/execute/gateway/gateway.ts';
import { GATEWAYS } from '../../../src/execute/gateway/index.ts';
import { anthropicEvents, openaiEvents } from '../../../stand-ins/wire.ts';
import type { ApiName } from './support.ts';

const SSE = 'text/event-stream; charset=utf-8';
const sse = (events: readonly object[], end = ''): string =>
  `${events.map(event => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join('')}${end}`;

function heard(api: ApiName, text: string, type = SSE, cut = text.length): AnswerPart {
  const reader = new AnswerReader(GATEWAYS[api], type);
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += cut) reader.take(bytes.subarray(from, from + cut));
  return reader.end();
}

const CHAT_USAGE = { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 40 } };
const GEMINI_USAGE = {
  promptTokenCount: 90,
  toolUsePromptTokenCount: 10,
  cachedContentTokenCount: 40,
  candidatesTokenCount: 15,
  thoughtsTokenCount: 5,
};
const ANTHROPIC_USAGE = {
  input_tokens: 50,
  cache_read_input_tokens: 40,
  cache_creation_input_tokens: 10,
  output_tokens: 20,
};

describe('the facts of an answer', () => {
  const text = [{ kind: 'text', text: 'a "usage" of {"usage":{"output_tokens":9}} words' }] as const;
  const STREAMS: readonly [ApiName, string, AnswerPart][] = [
    [
      'anthropic',
      sse(anthropicEvents(text, 'i')),
      { model: 'claude-opus-5-5', input: 100, cached: 0, cacheWrite: 0, output: 20, isDone: true },
    ],
    ['openai', sse(openaiEvents(text, 'i')), { input: 60, cached: 40, output: 20, isDone: true }],
    [
      'openai-chat',
      sse(
        [
          { object: 'chat.completion.chunk', model: 'm', choices: [{ delta: { content: 'x' } }] },
          { model: 'm', choices: [], usage: CHAT_USAGE },
        ],
        'data: [DONE]\n\n',
      ),
      { model: 'm', input: 60, cached: 40, output: 20, isDone: true },
    ],
    [
      'gemini',
      sse([
        { modelVersion: 'g', usageMetadata: { promptTokenCount: 90 } },
        { modelVersion: 'g', usageMetadata: GEMINI_USAGE },
      ]),
      { model: 'g', input: 60, cached: 40, output: 20 },
    ],
  ];
  test.each(STREAMS)('are read from a stream of %s, however it is split', (api, stream, expected) => {
    expect(heard(api, stream)).toEqual(expected);
    expect(heard(api, stream.replaceAll('\n', '\r\n'))).toEqual(expected);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), cut => {
        expect(heard(api, stream, SSE, cut)).toEqual(expected);
      }),
      { seed: 20_261_117, numRuns: 50 },
    );
  });

  const WHOLE: readonly [ApiName, object, AnswerPart][] = [
    [
      'anthropic',
      { type: 'message', model: 'm', usage: ANTHROPIC_USAGE },
      { model: 'm', input: 50, cached: 40, cacheWrite: 10, output: 20, isDone: true },
    ],
    [
      'openai',
      { object: 'response', model: 'm', usage: { input_tokens: 100, output_tokens: 20 } },
      { model: 'm', input: 100, output: 20, isDone: true },
    ],
    [
      'openai-chat',
      { object: 'chat.completion', model: 'm', usage: CHAT_USAGE },
      { model: 'm', input: 60, cached: 40, output: 20, isDone: true },
    ],
    ['gemini', { modelVersion: 'g', usageMetadata: GEMINI_USAGE }, { model: 'g', input: 60, cached: 40, output: 20 }],
  ];
  test.each(WHOLE)('are read from a complete answer of %s, in one piece or byte by byte', (api, answer, expected) => {
    for (const cut of [1, 1_000]) expect(heard(api, JSON.stringify(answer), 'application/json', cut)).toEqual(expected);
  });

  test('are unknown for an interrupted answer, except those that had arrived', () => {
    const whole = sse(anthropicEvents(text, 'i'));
    expect(heard('anthropic', whole.slice(0, whole.indexOf('event: x\ndata: {"type":"message_delta"')))).toEqual({
      model: 'claude-opus-5-5',
      input: 100,
      cached: 0,
      cacheWrite: 0,
    });
    expect(heard('openai', sse(openaiEvents(text, 'i').slice(0, -1)))).toEqual({});
  });

  test.each<[ApiName, object]>([
    ['anthropic', { type: 'error', error: { type: 'overloaded_error' } }],
    ['openai', { type: 'response.failed', response: { error: { code: 'x' } } }],
    ['openai-chat', { error: { message: 'x' } }],
    ['gemini', { error: { code: 503 } }],
  ])('include an error of %s in the middle of a successful answer', (api, event) => {
    expect(heard(api, sse([event]))).toMatchObject({ isError: true });
  });

  test('ignore invalid counts', () => {
    for (const input_tokens of [-1, 1.5, '9', null, 1e300, {}])
      expect(
        heard('openai', JSON.stringify({ object: 'response', usage: { input_tokens } }), 'application/json'),
      ).toEqual({ isDone: true });
    for (const hostile of [
      'data: {"usage":\n\n',
      'data: \n\n',
      `data: ${'['.repeat(9_000)}"usage"\n\n`,
      'data: {"usage":1,"usage":2}\n',
    ])
      expect(heard('openai-chat', hostile)).toEqual({});
  });

  test('are not read from an event or answer that exceeds the limit', () => {
    const long = `{"object":"response","pad":"${'x'.repeat(16 * 1024 ** 2)}","usage":{"input_tokens":1,"output_tokens":1}}`;
    expect(heard('openai', long, 'application/json')).toEqual({});
    expect(heard('openai', `data: ${long}\n\n${sse(openaiEvents([], 'i'))}`)).toMatchObject({ output: 20 });
  });
});
