import { expect, test } from 'vitest';
import { QuestionDetector } from '../../../src/execute/model/question-detector.ts';
import { anthropicEvents, type Event, openaiEvents } from '../../../stand-ins/wire.ts';
import type { Block } from '../../../stand-ins/scenarios.ts';

const TOOLS = ['AskUserQuestion', 'request_user_input'];
const QUESTION: Block = { kind: 'question', text: 'Which one?' };

/** Feeds the stream in pieces of a few bytes, as a network might. */
function heardIn(stream: string, pieceBytes = 7): string | undefined {
  const ear = new QuestionDetector(TOOLS);
  const bytes = Buffer.from(stream);
  for (let at = 0; at < bytes.length; at += pieceBytes) ear.take(bytes.subarray(at, at + pieceBytes));
  return ear.heard;
}

const sse = (events: readonly Event[]): string =>
  events.map(event => `event: ${event.type}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`).join('');

test('finds a question call in the stream of either API, however it is split', () => {
  expect(heardIn(sse(anthropicEvents([QUESTION], 'x')))).toBe('AskUserQuestion');
  expect(heardIn(sse(openaiEvents([QUESTION], 'x')))).toBe('request_user_input');
});

test('finds no question call in text about such a tool, in another call, or in other lines', () => {
  const text: Block = { kind: 'text', text: 'I could call "request_user_input" or "AskUserQuestion".' };
  const command: Block = { kind: 'command', command: 'grep -r AskUserQuestion request_user_input' };
  for (const block of [text, command]) {
    expect(heardIn(sse(anthropicEvents([block], 'x')))).toBeUndefined();
    expect(heardIn(sse(openaiEvents([block], 'x')))).toBeUndefined();
  }
  expect(
    heardIn('data: {"item":{"type":"function_call","name":"request_user_input"\n\ndata: [DONE]\n\n'),
  ).toBeUndefined();
  expect(heardIn('{"item":{"type":"function_call","name":"request_user_input"}}\n')).toBeUndefined();
});

test('does not keep an event that exceeds the limit', () => {
  const call = '{"item":{"type":"function_call","name":"request_user_input"}}';
  expect(heardIn(`data: ${' '.repeat(2_000_000)}${call}\n\n`, 65_536)).toBeUndefined();
  expect(heardIn(`data: ${' '.repeat(2_000_000)}${call}\n\ndata: ${call}\n\n`, 65_536)).toBe('request_user_input');
});
