import { MemoryQueue } from '../../src/queue/memory.ts';
import { HEARTBEAT_MS, queueConformance } from '../conformance/queue.ts';

queueConformance('memory', async () => {
  let nowMs = 1_800_000_000_000;
  const queue = new MemoryQueue({ clock: { now: () => nowMs }, heartbeatMs: HEARTBEAT_MS });
  return { queue, age: async ms => void (nowMs += ms) };
});
