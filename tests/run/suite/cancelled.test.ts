import { expect, test } from 'vitest';
import { Breaker } from '../../../src/run/suite/breaker.ts';
import { runCase } from '../../../src/run/suite/case.ts';
import { DEFAULT_SETTINGS } from '../../../src/run/suite/settings.ts';

test('a case that is cancelled while its attempt is recorded is not sent', async () => {
  const stop = new AbortController();
  let asked = 0;
  const target = {
    ask: () => {
      asked++;
      return Promise.reject(new Error('sent after the cancellation'));
    },
    cancel: () => undefined,
    close: () => Promise.resolve(),
  };
  const one = { schema_version: 'suite-case.v1', id: 'one', input: { user: 'x' } } as const;
  const named = { id: 'one', side: 'new', url: 'http://127.0.0.1', settings: DEFAULT_SETTINGS } as const;
  const kept = await runCase(one, named, [], {
    target,
    breaker: new Breaker(1),
    runId: 'r1',
    signal: stop.signal,
    backoffMs: 1,
    onSent: () => {
      stop.abort();
      return Promise.resolve();
    },
    onArrived: () => Promise.resolve(),
    onFailed: () => undefined,
  });
  expect(kept).toBeUndefined();
  expect(asked).toBe(0);
});
