import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { resendCase } from '../../../src/verbs/resend.ts';
import { temporaryFolder } from '../../support/support.ts';
import { Agent, hangs, saying, sending } from './agent.ts';
import { ranSuite } from './support.ts';

const called = (tool: string) =>
  saying({ events: [{ type: 'tool_call', ts: 1, call_id: 'c1', tool, args: { id: 1 } }] });

/** A run of two cases, and another agent for a resend. */
async function recorded(now: ConstructorParameters<typeof Agent>[0]) {
  const agent = new Agent({ plain: called('orders.get'), broken: sending('x', {}, 404) });
  const { cwd } = await ranSuite(['plain', 'broken'], { baseUrl: await agent.start() });
  const other = new Agent(now);
  const options = { run: 'latest', baseUrl: await other.start(), cwd };
  return { other, options };
}

test('a resend shows the new answer next to the recorded one', async () => {
  const { options } = await recorded({ plain: called('orders.list'), broken: sending('x', {}, 403) });
  const { difference } = await resendCase({ ...options, caseId: 'plain' });
  expect(difference?.says).toBe('The new attempt called “orders.list” where the recorded one called “orders.get”');
  const status = await resendCase({ ...options, caseId: 'broken' });
  expect(status.difference?.says).toMatch(
    /^The new attempt failed with http_error 403, but the recorded one failed with http_error 404/,
  );
});

test('the same answer or the same failure is not a difference', async () => {
  const { options } = await recorded({ plain: called('orders.get'), broken: sending('y', {}, 404) });
  for (const caseId of ['plain', 'broken']) {
    expect((await resendCase({ ...options, caseId })).difference).toBeUndefined();
  }
});

test('a resend can be interrupted while it waits', async () => {
  const stop = new AbortController();
  const { options } = await recorded({
    plain: (...asked) => {
      hangs(...asked);
      stop.abort();
    },
  });
  const resent = resendCase({ ...options, caseId: 'plain', signal: stop.signal, timeoutMs: 600_000 });
  await expect(resent).rejects.toThrow('Cancelled before an answer arrived');
});

test('a timeout of zero or above the limit is refused before sending', async () => {
  const { options, other } = await recorded({});
  for (const timeoutMs of [0, 999, 600_001]) {
    await expect(resendCase({ ...options, caseId: 'plain', timeoutMs })).rejects.toThrow('from 1s to 10m');
  }
  expect(other.seen).toEqual([]);
});

test('a missing run cannot be resent', async () => {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'note.txt'), '');
  await expect(resendCase({ run: 'latest', caseId: 'a', cwd })).rejects.toThrow(
    'No suite has been run yet. Run proctor run suite CASES. To see a run of an agent, a script or an intent, run proctor show.',
  );
});
