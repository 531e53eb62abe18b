import { MemoryQueue } from '../../src/queue/memory.ts';
import { HEARTBEAT_MS, queueConformance } from '../conformance/queue.ts';
import { joined, workerWorld } from '../serve/worker-world.ts';

queueConformance('remote', async () => {
  let nowMs = 1_800_000_000_000;
  const memory = new MemoryQueue({ clock: { now: () => nowMs }, heartbeatMs: HEARTBEAT_MS });
  const { worker } = await workerWorld({ queue: memory });
  const { queue } = await worker('w1');
  return { queue: joined(queue, memory), age: async ms => void (nowMs += ms) };
});
