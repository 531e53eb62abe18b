import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { acceptBaseline, compareRuns, runSuite } from '../../src/verbs/index.ts';
import { Agent, saying } from '../run/suite/agent.ts';
import { temporaryFolder } from '../support/support.ts';

describe('the suite functions of the library', () => {
  test('run and compare suites, and accept a baseline', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify([{ id: 'a', expected: { contains: 'asked' } }]));
    const good = await new Agent().start();
    const worse = await new Agent({
      a: saying({ final_output: { content_type: 'text', content: 'No.' } }),
    }).start();
    const before = await runSuite({ cases: 'cases.json', cwd, baseUrl: good, as: 'baseline', repeat: 2 });
    const now = await runSuite({ cases: 'cases.json', cwd, baseUrl: worse, as: 'new' });
    expect(before.runs.map(({ notPassed }) => notPassed)).toEqual([[], []]);
    expect(now.runs[0]).toMatchObject({ judged: { total: 1, passed: 0 }, notPassed: ['a'] });
    const [first] = before.runs;
    expect(existsSync(path.join(first?.place.folder ?? '', 'run.json'))).toBe(true);
    const { comparison, files } = await compareRuns({
      baseline: first?.place.id ?? '',
      candidate: now.runs[0]?.place.folder ?? '',
      formats: ['html', 'junit'],
      cwd,
    });
    expect(comparison).toMatchObject({
      verdict: 'not_enough_evidence',
      decision: { cause: 'suspect' },
      sides: { baseline: { trials: 2 } },
    });
    expect(Object.keys(files)).toEqual(['html', 'junit']);
    const accepted = await acceptBaseline('baseline', 'proctor-baseline.json', cwd);
    expect(accepted).toMatchObject({ cases: 1, passed: 1 });
  });

  const compare = compareRuns as (options?: object) => Promise<unknown>;
  const run = runSuite as (options?: object) => Promise<unknown>;

  test.each([
    ['an unknown option', () => compare({ baseline: 'a', new: 'b' }), 'has no option "new"'],
    ['a missing side', () => compare({ baseline: 'baseline' }), 'compareRuns requires candidate'],
    ['no options', () => compare(), 'compareRuns requires baseline'],
    ['a suite without a target', () => run({ cases: 'cases.json', as: 'new' }), 'baseUrl'],
    ['a suite without a side', () => run({ cases: 'cases.json' }), 'as must be "baseline" or "new"'],
  ] as const)('reject %s', async (_, act, words) => {
    await expect(act()).rejects.toThrow(words);
  });
});
