/** Which suites a server leaves to the workers of its queue. tests/deep/queue-server.test.ts runs one. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import type { ServeOptions } from '../../../src/serve/serve.ts';
import { reported, request } from '../../conformance/queue.ts';
import { temporaryFolder } from '../../support/support.ts';
import { orderingServer } from './ordering-server.ts';

const CASES = { name: 'cases.jsonl', text: '{"id":"one","input":{"user":"1"}}\n' };

/** Orders a suite of the queue, and returns the refusal. */
async function refusal(over: object, options: Partial<ServeOptions> = {}) {
  const cwd = temporaryFolder();
  const server = await orderingServer(cwd, options);
  const order = { as: 'new', run_id: 'r1', cases: CASES, queue: true, ...over };
  const headers = { 'content-type': 'application/json' };
  const { status, body } = await server.json('/v1/runs', { method: 'POST', headers, body: JSON.stringify(order) });
  return { status, ...body.error, isLeft: existsSync(path.join(cwd, '.proctor', 'runs', 'new', 'r1')) };
}

const API = { base_url: 'http://127.0.0.1:9' };

test('refuses a suite for the queue if the server has none', async () => {
  expect(await refusal(API)).toEqual({
    status: 404,
    code: 'no_queue',
    message: 'This server has no queue. Omit queue, or ask its operator for proctor serve --queue.',
    isLeft: false,
  });
});

test('refuses it if only this process can reach the queue', async () => {
  expect(await refusal(API, { team: { queue: new MemoryQueue() } })).toMatchObject({ status: 404, code: 'no_queue' });
});

test('refuses a script without a store, through which it would reach the workers', async () => {
  const script = { name: 'answer.py', text: 'print(1)\n' };
  expect(await refusal({ script }, { ordering: { queue: new MemoryQueue() } })).toMatchObject({
    status: 404,
    code: 'no_store',
    message:
      'This server has no store, through which a script reaches the workers. Omit queue, or ask its operator for proctor serve --store.',
    isLeft: false,
  });
});

test('refuses second attempts without the queue, and shares that are none', async () => {
  const queue = new MemoryQueue();
  expect(await refusal({ ...API, twice: 0.5, queue: false }, { ordering: { queue } })).toMatchObject({
    status: 422,
    message: '--twice requires a queue. Add --queue.',
    isLeft: false,
  });
  for (const twice of [0, 1.5, 'all'])
    expect(await refusal({ ...API, twice }, { ordering: { queue } })).toMatchObject({
      code: 'invalid_input',
      isLeft: false,
    });
});

class DownQueue extends MemoryQueue {
  override async outcomes(): Promise<never> {
    throw new Fault('queue_unavailable', 'PostgreSQL does not answer.');
  }
}

test('refuses it while the database is down, and leaves nothing, so that a client can order it again', async () => {
  const answer = await refusal(API, { ordering: { queue: new DownQueue() } });
  expect(answer).toMatchObject({ status: 503, code: 'queue_unavailable', isLeft: false });
});

test('refuses a name that the queue knows, because nothing proves who began that run', async () => {
  const queue = new MemoryQueue();
  await queue.offer([request('one', { key: 'r1/one/1', runId: 'r1' })]);
  const worker = { worker: 'w1', protocols: [1], needs: ['http'], slots: 1, version: '0.0.0' };
  await queue.settle((await queue.claim(worker, 1, { waitMs: 0 })).map(claim => reported(claim)));
  expect(await refusal(API, { ordering: { queue } })).toEqual({
    status: 409,
    code: 'run_known',
    message: 'The queue already has attempts of a run called r1. Choose another name.',
    isLeft: false,
  });
});
