import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CaseSlots } from '../../../src/run/suite/case-slots.ts';
import { Agent, answersWell, json } from './agent.ts';
import { expectValid, ranSuite } from './support.ts';

describe('the slots of cases', () => {
  test('let the next case begin when an answer has arrived, before it is read', async () => {
    const slots = new CaseSlots(1);
    const order: string[] = [];
    const ask = async (name: string): Promise<void> => {
      const { onArrived } = await slots.take();
      order.push(`${name} sent`);
      await onArrived();
      order.push(`${name} read`);
    };
    await Promise.all([ask('first'), ask('second')]);
    expect(order).toEqual(['first sent', 'second sent', 'first read', 'second read']);
  });

  test('let a case that frees its slot twice admit only one other', async () => {
    const slots = new CaseSlots(1);
    const { onArrived, free } = await slots.take();
    let admitted = 0;
    for (let others = 0; others < 2; others++) void slots.take().then(() => admitted++);
    void onArrived();
    free();
    await turn();
    expect(admitted).toBe(1);
  });
});

describe('a suite', () => {
  test('never has more cases with the target than its limit, even if attempts fail', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `case-${index}`);
    let [open, most] = [0, 0];
    let fill = (): void => undefined;
    // The first answers wait until all slots are taken, so that a slow machine reaches the limit too.
    const full = new Promise<void>(resolve => (fill = resolve));
    const behaviour: typeof answersWell = (seen, response, time) => {
      most = Math.max(most, ++open);
      if (open === 3) fill();
      const answer = (): void => {
        open--;
        if (time === 1 && seen.caseId.endsWith('5')) json(response, {}, 503);
        else answersWell(seen, response, time);
      };
      void full.then(() => setTimeout(answer, 2));
    };
    const agent = new Agent(Object.fromEntries(ids.map(id => [id, behaviour])));
    const { result, folder } = await ranSuite(ids, { baseUrl: await agent.start(), concurrency: 3, retries: 1 });
    expect(result.runs[0]).toMatchObject({ ok: 60, failed: 0 });
    expect(most).toBe(3);
    expect(agent.seen).toHaveLength(66);
    await expectValid(folder);
  });
});
