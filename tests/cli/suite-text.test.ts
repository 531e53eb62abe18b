import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { nextText } from '../../src/cli/text/compare-next.ts';
import { suiteRunText } from '../../src/cli/text/run-suite-text.ts';
import type { SuiteRunResult } from '../../src/verbs/run-suite.ts';
import { notWorse, unsettled, withReruns, withSuspect } from '../reports/verdict-world.ts';
import { mixedComparison } from '../reports/world.ts';
import { ROOT } from '../support/support.ts';

const plain = (_: unknown, text: string): string => text;

function result(repetitions: number): SuiteRunResult {
  const run = {
    place: { id: 'r', lane: 'new', folder: path.join(process.cwd(), '.proctor/runs/new/r') },
    total: 10_000,
    ok: 10_000,
    failed: 0,
    gaveUp: false,
    troubles: [],
    isOpen: false,
    durationMs: 1_000,
    judged: { total: 10_000, passed: 9_000, failed: 1_000, errors: 0, unjudged: 0 },
    repairs: undefined,
    notPassed: ['a'],
  };
  const runs = Array.from({ length: repetitions }, () => run);
  return { kind: 'suite', version: 'new', runs, isAllFailing: false, checks: [], keyId: null } as never;
}

test('the output of a run groups the digits of all counts', () => {
  const told = suiteRunText(result(1), plain);
  expect(told).toContain('10,000 of 10,000 cases');
  expect(told).toContain('9,000 of 10,000 passed, 1,000 failed');
  expect(told).toContain('a and 999 more');
  expect(told).not.toMatch(/\d{4}/);
});

test('the output of several repetitions ends with their sum', () => {
  expect(suiteRunText(result(3), plain)).toMatch(
    /\n! 3 runs {2}new {2}30,000 of 30,000 trials answered, 27,000 passed\n$/,
  );
});

test.each([
  [
    'a regression',
    mixedComparison(),
    /^ {2}next {4}proctor resend \S+ refund-(?:large|small) {2}to send a broken case again\n$/,
  ],
  ['reruns', withReruns(), /^ {2}next {4}proctor resend \S+ refund-3 {2}/],
  [
    'a suspect',
    withSuspect(),
    /^ {2}next {4}proctor compare old 'my run' --again --target FILE {2}to run the suspect cases again\n$/,
  ],
  ['no regression', notWorse(), /^ {2}next {4}proctor baseline accept 'my run' {2}/],
  ['an open question', unsettled(), /^$/],
])('a comparison ends with the next command, if there is one: %s', (_, comparison, expected) => {
  expect(nextText(comparison, { baseline: 'old', candidate: 'my run', againFlags: ' --target FILE' })).toMatch(
    expected,
  );
});

test('the example agent gives the same answers in every demo', async () => {
  const answers = async (): Promise<string[]> => {
    const agent = spawn(process.execPath, [path.join(ROOT, 'examples/suite/agent.mjs'), '--port', '0', '--new']);
    onTestFinished(() => void agent.kill());
    const [line] = (await once(createInterface(agent.stdout), 'line')) as [string];
    const [address = ''] = /http:\S+/.exec(line) ?? [];
    const asked: string[] = [];
    for (let trial = 0; trial < 6; trial++) {
      const body = JSON.stringify({ case_id: 'small-talk', version: 'new', input: { user: 'How are you?' } });
      const reply = await fetch(`${address}/run-case`, { method: 'POST', body });
      asked.push(((await reply.json()) as { final_output: { content: string } }).final_output.content);
    }
    return asked;
  };
  const first = await answers();
  expect(first.map(text => text === 'No.')).toEqual([false, true, false, true, false, true]);
  expect(await answers()).toEqual(first);
});
