import { expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { CallThread } from '../../../src/execute/host/call-thread.ts';
import { Answer } from '../../../src/judge/suite/answer.ts';
import { judgeAnswerSomewhere } from '../../../src/judge/suite/apart.ts';
import { Effort, STEPS_HERE_MAX } from '../../../src/judge/suite/effort.ts';
import { judgeAnswer } from '../../../src/judge/suite/expectations.ts';
import { answered } from './answers.ts';

/** More steps than the main thread may take, but few enough to be quick. */
const expected = { contains: 'a', regex: 'a{1000}b$', not_regex: ['x', 'a!$'] };
const artifact = answered(`${'a'.repeat(20_000)}!`);
const effort = () => new Effort({ here: STEPS_HERE_MAX });

test('a slow judgement runs in a worker thread and gives the same verdict', async () => {
  const thread = new CallThread('judge-thread.js');
  let asked = 0;
  const judgeApart = (question: unknown): Promise<unknown> => {
    asked++;
    return thread.call(question);
  };
  const found = await judgeAnswerSomewhere(expected, artifact, { effort: effort(), judgeApart });
  await thread.close();
  expect(asked).toBe(1);
  expect(found).toEqual(judgeAnswer(expected, new Answer(artifact)));
});

test('one thread answers several questions, one after another', async () => {
  const thread = new CallThread('judge-thread.js');
  const question = { expected: { contains: 'a' }, artifact };
  const verdict = judgeAnswer(question.expected, new Answer(artifact));
  expect(await thread.call(question)).toEqual(verdict);
  expect(await thread.call(question)).toEqual(verdict);
  expect(await Promise.all([thread.call(question), thread.call(question)])).toEqual([verdict, verdict]);
  await thread.close();
});

test('a call that is stopped while it waits for its turn ends before the call ahead of it', async () => {
  const thread = new CallThread('judge-thread.js');
  const question = { expected: { contains: 'a' }, artifact };
  const stop = new AbortController();
  const ends: string[] = [];
  const first = thread.call(question).then(() => ends.push('first'));
  const second = thread.call(question, stop.signal).catch((error: Fault) => ends.push(error.code));
  stop.abort();
  await Promise.all([first, second]);
  await thread.close();
  expect(ends).toEqual(['cancelled', 'first']);
});

test('a cached pattern costs as many steps as a new one', () => {
  const taken = [1, 2].map(() => {
    const steps = new Effort();
    judgeAnswer({ ...expected, json_schema: { pattern: 'b{200}' } }, new Answer(answered('"b"'), steps));
    return steps.taken;
  });
  expect(taken[0]).toBe(taken[1]);
});

test('a thread that dies affects only the slow expectations', async () => {
  const judgeApart = () => Promise.reject(new Fault('thread_failed', 'A worker thread ended unexpectedly.'));
  const { assertions, isBroken } = await judgeAnswerSomewhere(expected, artifact, { effort: effort(), judgeApart });
  expect(isBroken).toBe(true);
  expect(assertions.map(({ name, status }) => `${name} ${status}`)).toEqual([
    'contains pass',
    'regex not_judged',
    'not_regex pass',
    'not_regex fail',
  ]);
});

test('a signal stops the thread, and a new thread serves the next request', async () => {
  const thread = new CallThread('judge-thread.js');
  const stop = new AbortController();
  const slow = {
    expected: { regex: String.raw`\p{L}{0,1000}`.repeat(3) + 'x$' },
    artifact: answered('ax'.repeat(20_000)),
  };
  const stopped = thread.call(slow, stop.signal);
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ code: 'cancelled' });
  const question = { expected: { contains: 'a' }, artifact };
  expect(await thread.call(question)).toEqual(judgeAnswer(question.expected, new Answer(artifact)));
  await thread.close();
});
