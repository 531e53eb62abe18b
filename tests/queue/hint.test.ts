import { expect, test } from 'vitest';
import { monotonicMs } from '../../src/base/clock.ts';
import { askUntil, Hint } from '../../src/queue/hint.ts';

test('asks no more once its signal aborts', async () => {
  let asks = 0;
  const ask = async (): Promise<readonly string[]> => {
    asks++;
    return [];
  };
  const stop = new AbortController();
  const wait = { waitMs: 60_000, signal: stop.signal };
  const asking = askUntil(ask, answer => answer.length === 0, new Hint(), wait, 60_000, monotonicMs);
  await new Promise(resolve => setImmediate(resolve));
  stop.abort();
  expect(await asking).toEqual([]);
  expect(asks).toBe(1);
});
