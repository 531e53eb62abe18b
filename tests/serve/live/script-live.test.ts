import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { ScriptRunView } from '../../../src/publish/views.ts';
import { ScriptLive } from '../../../src/serve/live/script-live.ts';
import { until } from '../../support/runs.ts';
import { SseClient } from './sse-client.ts';

/** A server of one run, whose state the test decides. */
async function following() {
  const live = new ScriptLive();
  const run = { state: 'waiting' as ScriptRunView['state'], position: 1, looks: 0, text: '' };
  const view = (): ScriptRunView => {
    run.looks++;
    return { state: run.state, position: run.position, error_summary: run.text } as ScriptRunView;
  };
  const server = createServer((_, response) => live.follow('one', response, view));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { live, run, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('all streams of a run share one look at its files, and end with the run', async () => {
  const { run, url } = await following();
  const clients = Array.from({ length: 50 }, () => new SseClient(url));
  await until('all have the view', () => clients.every(({ events }) => events.length === 1));
  const before = run.looks;
  run.position = 0;
  await until('all have the next view', () => clients.every(({ events }) => events.length === 2));
  // One look when each stream began, and then a few for all of them.
  expect(before).toBeLessThan(100);
  expect(run.looks - before).toBeLessThan(50);
  run.state = 'succeeded';
  await Promise.all(clients.map(({ ended }) => ended));
  expect(clients.map(({ events }) => events.at(-1)?.event)).toEqual(Array(50).fill('ended'));
});

test('a stopping server ends the streams of runs that wait, and not of runs that it still waits for', async () => {
  const { live, run, url } = await following();
  run.state = 'running';
  const running = new SseClient(url);
  await until('it has the view', () => running.events.length === 1);
  live.drain();
  run.position = 0;
  await until('it has the next view', () => running.events.length === 2);
  run.state = 'waiting';
  await running.ended;
  expect(running.events.every(({ event }) => event === 'view')).toBe(true);
});

test('a client that does not read the end of a run does not end the server', async () => {
  const { run, url } = await following();
  run.state = 'succeeded';
  run.text = 'x'.repeat(8 * 1024 ** 2);
  const deaf = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void deaf.destroy());
  deaf.write('GET / HTTP/1.1\r\nHost: one\r\n\r\n');
  await new Promise(resolve => deaf.once('readable', resolve));
  const before = run.looks;
  await until('the server looks twice more', () => run.looks > before + 1);
  const next = new SseClient(url);
  await next.ended;
  expect(next.events.at(-1)?.event).toBe('ended');
});
