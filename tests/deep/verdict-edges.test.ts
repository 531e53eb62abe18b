import { onTestFinished, describe, expect, test } from 'vitest';
import { Place } from '../support/runs.ts';
import type { Ran } from '../support/support.ts';
import { Agent, type answersWell, answerTo, json } from '../run/suite/agent.ts';

/** Edge cases in which a gate is easily wrong, each with its exit code and verdict. */

type Behaviour = typeof answersWell;

const answering =
  (content: string): Behaviour =>
  (seen, response) =>
    json(response, answerTo(seen, { final_output: { content_type: 'text', content } }));

/** Answers correctly for the first requests only. */
const goodFor =
  (times: number): Behaviour =>
  (seen, response, count) =>
    answering(count <= times ? 'all is well' : 'all is lost')(seen, response, count);

const one = (id: string, expected: object = { contains: 'well' }) => ({ id, input: { user: id }, expected });
const many = (count: number) => Array.from({ length: count }, (_, index) => one(`case-${index}`));

interface Sides {
  readonly before?: readonly object[];
  readonly now?: readonly object[];
  readonly old?: Behaviour;
  readonly fresh?: (id: string) => Behaviour;
  readonly repeat?: number;
}

/** Runs a baseline and a candidate. Returns a function that compares them. */
async function sides({ before = many(10), now = before, old = answering('all is well'), ...more }: Sides) {
  const { fresh = () => old, repeat = 1 } = more;
  const place = new Place();
  onTestFinished(() => place.remove());
  // The agents run in this process, so commands must not block the event loop.
  const proctor = (...args: string[]): Promise<Ran> => place.start(args).ended;
  const ids = (cases: readonly object[]) => cases.map(({ id }: { id?: string }) => id as string);
  const run = async (side: 'baseline' | 'new', cases: readonly object[], behaviour: (id: string) => Behaviour) => {
    place.file(`${side}.json`, JSON.stringify(cases));
    const agent = new Agent(Object.fromEntries(ids(cases).map(id => [id, behaviour(id)])));
    const url = await agent.start();
    const words = ['--base-url', url, '--as', side, '--repeat', String(repeat), '--retries', '0'];
    return proctor('run', 'suite', `${side}.json`, ...words);
  };
  await run('baseline', before, () => old);
  const ran = await run('new', now, fresh);
  const compare = (...args: string[]) => proctor('compare', 'baseline', 'new', ...args);
  return { ran, compare };
}

/** The verdict. Only what to do next follows it. */
const verdictLine = ({ stdout }: Ran): string => stdout.split('\n').findLast(line => /^\S/.test(line)) ?? '';

describe('the gate does not pass', () => {
  test('a deleted case', async () => {
    const { compare } = await sides({ now: many(10).slice(1) });
    const found = await compare();
    expect([found.code, verdictLine(found)]).toEqual([
      3,
      '? Not enough evidence  A case of the baseline is no longer in the suite: “case-0”. --allow-removed accepts this.',
    ]);
    expect((await compare('--allow-removed')).code).toBe(0);
  });

  test('a case that lost its expectation', async () => {
    const { compare } = await sides({ now: [one('case-0', {}), ...many(10).slice(1)] });
    const found = await compare();
    expect(found.code).toBe(3);
    expect(verdictLine(found)).toContain('“case-0”');
    expect(found.stdout).toContain('contains');
    expect((await compare('--allow-weakened')).code).toBe(0);
  });

  test('cases that all fail on both sides', async () => {
    const { compare } = await sides({ old: answering('all is lost') });
    const found = await compare();
    expect(found.code).toBe(3);
    expect(verdictLine(found)).toContain('All 10 cases fail on both sides');
  });

  test('cases without any expectation', async () => {
    const { compare } = await sides({ before: many(10).map(({ id, input }) => ({ id, input })) });
    const found = await compare();
    expect([found.code, verdictLine(found)]).toEqual([
      3,
      '? Not enough evidence  No case has an expectation that can be judged, so nothing was judged.',
    ]);
  });

  test('an input that always crashes the agent: a suspect at first, and a regression once it is rerun', async () => {
    const drops: Behaviour = (_seen, response) => response.destroy();
    const { compare } = await sides({
      before: many(21),
      repeat: 3,
      fresh: id => (id === 'case-3' ? drops : answering('all is well')),
    });
    const found = await compare();
    expect(found.code).toBe(3);
    expect(verdictLine(found)).toContain('“case-3” (3/3 → 0/3)');
    expect(found.stdout).toContain('--again');
    const again = await compare('--again');
    expect(again.code).toBe(1);
    expect(verdictLine(again)).toContain('broke, beyond chance: “case-3”');
  });
});

test('ten cases that now pass in one of three trials, and always did before, are a regression', async () => {
  const { compare } = await sides({ repeat: 3, fresh: () => goodFor(1) });
  const found = await compare();
  expect([found.code, verdictLine(found).startsWith('✗ Regression')]).toEqual([1, true]);
});

test('identical sides are proof of no regression', async () => {
  const { compare } = await sides({});
  expect((await compare()).code).toBe(0);
  const proven = await compare('--gate', 'proven');
  expect([proven.code, verdictLine(proven)]).toEqual([
    0,
    '✓ No regression  Both sides gave the same answers in every case.',
  ]);
});

test('a single run in which everything fails exits with 1', async () => {
  const { ran } = await sides({ fresh: () => answering('all is lost') });
  expect([ran.code, ran.stderr.trimEnd().split('\n').at(-1)]).toEqual([1, '✗ Every judged case fails.']);
});
