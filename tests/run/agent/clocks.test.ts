import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentClocks } from '../../../src/run/agent/clocks.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function clocks() {
  const stopped: boolean[] = [];
  const one = new AgentClocks({ idleMs: 1_000, toolIdleMs: 5_000, graceMs: 300 }, late => void stopped.push(late));
  return { one, stopped };
}

describe("an agent's clocks", () => {
  test('stop an agent that makes no progress', () => {
    const { stopped } = clocks();
    vi.advanceTimersByTime(999);
    expect(stopped).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(stopped).toEqual([false]);
  });

  test('restart with any progress', () => {
    const { one, stopped } = clocks();
    for (let round = 0; round < 5; round++) {
      vi.advanceTimersByTime(900);
      one.progress(0);
    }
    expect(stopped).toEqual([]);
    vi.advanceTimersByTime(1_001);
    expect(stopped).toEqual([false]);
  });

  test('wait longer while a tool call is pending', () => {
    const { one, stopped } = clocks();
    one.progress(1);
    vi.advanceTimersByTime(4_999);
    expect(stopped).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(stopped).toEqual([false]);
  });

  test('stop waiting longer once the tool has answered', () => {
    const { one, stopped } = clocks();
    one.progress(1);
    vi.advanceTimersByTime(2_000);
    one.progress(0);
    vi.advanceTimersByTime(1_001);
    expect(stopped).toEqual([false]);
  });

  test('grant a short grace period after the last line, and do not extend it', () => {
    const { one, stopped } = clocks();
    one.finished();
    vi.advanceTimersByTime(200);
    one.finished();
    one.progress(1);
    vi.advanceTimersByTime(101);
    expect(stopped).toEqual([true]);
  });

  test('stop with the agent', () => {
    const { one, stopped } = clocks();
    one.progress(1);
    one.close();
    // Later model output has no effect.
    one.progress(0);
    one.finished();
    vi.advanceTimersByTime(100_000);
    expect(stopped).toEqual([]);
  });
});
