import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Journal } from '../../src/evidence/run-folder/journal.ts';
import { ownerHere } from '../../src/run/pipeline/runner-plan.ts';
import { LiveHub } from '../../src/serve/live/hub.ts';
import { serverOf, SseClient } from '../serve/live/sse-client.ts';
import { until } from '../support/runs.ts';
import { temporaryFolder } from '../support/support.ts';

test('1,000 idle viewers share one follower, and all get the next event', async () => {
  const folder = path.join(temporaryFolder(), 'suite_20260106_120000_0123456789ab');
  mkdirSync(folder, { mode: 0o700 });
  const journal = Journal.open<object>(folder);
  onTestFinished(() => journal.close());
  journal.append({ is: 'laying', owner: ownerHere() });
  const hub = new LiveHub({ beatMs: 200 });
  const { url } = await serverOf(hub, { id: path.basename(folder), lane: 'new', folder });
  const clients = Array.from({ length: 1_000 }, () => new SseClient(url));
  await until('all have heartbeats', () => clients.every(({ comments }) => comments > 3));
  expect(hub.counts).toEqual({ viewers: 1_000, runs: 1 });
  journal.append({ is: 'sent', id: 'a', attempt: 1, atMs: 1, key: 'k' });
  await until('all have the event', () => clients.every(({ events }) => events.length === 2));
  for (const client of clients) client.leave();
  await until('all have left', () => hub.counts.viewers === 0);
  expect(hub.counts.runs).toBe(0);
});
