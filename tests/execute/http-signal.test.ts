import { expect, test } from 'vitest';
import { HttpTarget } from '../../src/execute/http.ts';
import { Agent, answersWell, hangs } from '../run/suite/agent.ts';

test('a signal ends its own request, and no other', async () => {
  let answer = (): void => undefined;
  const agent = new Agent({
    slow: hangs,
    other: (seen, response, times) => void (answer = () => answersWell(seen, response, times)),
  });
  const http = new HttpTarget(await agent.start(), 4);
  const stop = new AbortController();
  const send = (caseId: string, signal?: AbortSignal) =>
    http.send({
      path: '/run-case',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ case_id: caseId, input: { user: 'x' } }),
      deadlineMs: 60_000,
      idleMs: 60_000,
      bodyBytesMax: 10_000,
      redirectsMax: 0,
      signal,
    });
  const cancelled = send('slow', stop.signal);
  const other = send('other');
  await expect.poll(() => agent.seen.length).toBe(2);
  stop.abort();
  expect(await cancelled).toMatchObject({ ended: 'cancelled' });
  answer();
  expect(await other).toMatchObject({ ended: 'complete', status: 200 });
  expect(await send('slow', stop.signal)).toMatchObject({ ended: 'cancelled' });
  expect(agent.times('slow')).toBe(1);
  await http.close();
});
