import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import { runSuite, type RunSuiteOptions, type SuiteRunResult } from '../../../src/verbs/run-suite.ts';
import { runQueueWorker, type WorkerOptions } from '../../../src/verbs/worker.ts';
import type { WorkerEvent } from '../../../src/work/worker.ts';
import { newKeyPair, privateKeyIn } from '../../../src/base/ed25519.ts';
import { contentHash } from '../../../src/base/hash.ts';
import { signerWith } from '../../../src/contracts/seal/index.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import type { Reporter } from '../../../src/run/suite/attempt-report.ts';
import { temporaryFolder } from '../../support/support.ts';
import { Agent } from './agent.ts';

const HEARTBEAT_MS = 30_000;

/** An agent, a queue in memory, and a project with a suite of cases. */
export async function queueWorld({
  behaviours = {},
  ids = ['a', 'b', 'c'],
  heartbeatMs = HEARTBEAT_MS,
  expected,
}: {
  behaviours?: ConstructorParameters<typeof Agent>[0];
  ids?: readonly string[];
  heartbeatMs?: number;
  expected?: object;
} = {}) {
  const agent = new Agent(behaviours);
  const baseUrl = await agent.start();
  let aheadMs = 0;
  const queue = new MemoryQueue({ heartbeatMs, clock: { now: () => Date.now() + aheadMs } });
  const cwd = temporaryFolder();
  writeFileSync(
    path.join(cwd, 'cases.jsonl'),
    ids.map(id => `${JSON.stringify({ id, input: { user: id }, ...(expected && { expected }) })}\n`).join(''),
  );
  const base = { cases: 'cases.jsonl', as: 'new', baseUrl, cwd, runId: 'r1', queue, backoffMs: 1 } as const;
  return {
    agent,
    queue,
    /** Lets a heartbeat pass for the attempts under way. */
    age: () => void (aheadMs += heartbeatMs + 1_000),
    cwd,
    baseUrl,
    folder: path.join(cwd, '.proctor', 'runs', 'new', 'r1'),
    run: (over: Partial<RunSuiteOptions> = {}): Promise<SuiteRunResult> => runSuite({ ...base, ...over }),
    /** Starts a worker with its own project folder, and so with its own key. */
    worker: (over: Partial<WorkerOptions> = {}) => startWorker({ queue, slots: 4, ...over }),
  };
}

/** Starts a worker with a project folder of its own, and so with its own key. */
export function startWorker(options: WorkerOptions) {
  const stop = new AbortController();
  const events: WorkerEvent[] = [];
  const cwd = temporaryFolder();
  const ended = runQueueWorker({
    cwd,
    drainMs: 5_000,
    ...options,
    signal: stop.signal,
    onEvent: event => events.push(event),
  });
  ended.catch(() => undefined);
  onTestFinished(async () => {
    stop.abort();
    await ended.catch(() => undefined);
  });
  return { ended, events, cwd, stop: () => stop.abort(), keyFile: path.join(cwd, '.proctor', 'keys', 'signing.pub') };
}

/** A queue with some methods replaced. */
export function changedQueue(queue: MemoryQueue, over: Partial<Queue>): Queue {
  return new Proxy<Queue>(queue, {
    get(target, name: keyof Queue) {
      const own = over[name] ?? target[name];
      return own.bind(target);
    },
  });
}

export function testReporter(): Reporter {
  const key = privateKeyIn(newKeyPair().privatePem);
  if (!key) throw new Error('no key');
  return { name: 'test', version: '0.0.0', environmentHash: contentHash({}), signer: signerWith(key) };
}
