import { expect, test } from 'vitest';
import { type SocketRequest, WebSocketClient } from '../../src/execute/websocket.ts';
import { sends, WebSocketAgent } from '../run/suite/targets/websocket-agent.ts';

const request = (url: string, more: Partial<SocketRequest> = {}): SocketRequest => ({
  url,
  headers: {},
  messages: ['What about it?'],
  isLast: () => false,
  deadlineMs: 60_000,
  idleMs: 60_000,
  bodyBytesMax: 1_000_000,
  messagesMax: 100,
  ...more,
});

test('stops an agent that sends more messages than allowed, and keeps the allowed ones', async () => {
  const agent = new WebSocketAgent({ it: sends('1', '2', '3', '4') });
  const answer = await new WebSocketClient().converse(request(await agent.start(), { messagesMax: 3 }));
  expect(answer).toMatchObject({ ended: 'broken', errorName: 'TOO_MANY_MESSAGES' });
  expect(answer.body.toString()).toBe('1\n2\n3\n');
  expect(answer.frameMs).toHaveLength(3);
});

test('stores JSON unchanged except for line breaks, and any other text as a string', async () => {
  const odd = '{\r\n "a": 1.0,\n "a": [2]\n}';
  const agent = new WebSocketAgent({ it: sends(odd, 'two\nlines', '', '"end"') });
  const isLast = (message: string): boolean => message === '"end"';
  const answer = await new WebSocketClient().converse(request(await agent.start(), { isLast }));
  expect(answer.ended).toBe('complete');
  expect(answer.body.toString()).toBe('{  "a": 1.0,  "a": [2] }\n"two\\nlines"\n""\n"end"\n');
});

test('cancels the conversations in progress', async () => {
  const agent = new WebSocketAgent({ it: () => client.cancel() });
  const client = new WebSocketClient();
  expect(await client.converse(request(await agent.start()))).toMatchObject({ ended: 'cancelled', isOpened: true });
});
