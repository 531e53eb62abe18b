import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Comparison } from '../../src/contracts/comparison/index.ts';
import { Place } from '../support/runs.ts';
import { Agent } from '../run/suite/agent.ts';

const CASES = 100_000;

test('runs, judges, verifies, compares and reports a hundred thousand cases', {
  timeout: 3_600_000,
}, async () => {
  const place = new Place();
  onTestFinished(() => place.remove());
  const lines = Array.from({ length: CASES }, (_, index) => {
    const id = `case-${index}`;
    return `${JSON.stringify({ id, input: { user: id }, expected: { contains: `asked: ${id}` } })}\n`;
  });
  place.file('cases.jsonl', lines.join(''));
  const url = await new Agent().start();
  const proctor = (...args: string[]) => place.start(args).ended;
  const run = (id: string) => {
    const words = ['--base-url', url, '--as', 'new', '--run-id', id, '--concurrency', '64'];
    return proctor('run', 'suite', 'cases.jsonl', ...words);
  };
  const { code, stderr } = await run('r1');
  expect(code, stderr).toBe(0);
  expect(stderr).toContain(`${CASES.toLocaleString('en-US')} of ${CASES.toLocaleString('en-US')} passed`);
  expect((await proctor('verify', path.join('.proctor', 'runs', 'new', 'r1'))).code).toBe(0);
  expect((await proctor('baseline', 'accept', 'r1')).code).toBe(0);
  expect((await run('r2')).code).toBe(0);
  const compared = await proctor('compare', 'proctor-baseline.json', 'r2', '--out', 'out');
  expect(compared.code, compared.stderr).toBe(0);
  const { summary } = JSON.parse(readFileSync(path.join(place.cwd, 'out', 'comparison.json'), 'utf8')) as Comparison;
  expect(summary).toEqual({
    cases: CASES,
    regressed: 0,
    improved: 0,
    same: CASES,
    flaky: 0,
    missing: 0,
    without_expectations: 0,
  });
  expect(statSync(path.join(place.cwd, 'out', 'report.html')).size).toBeLessThanOrEqual(25_000_000);
});
