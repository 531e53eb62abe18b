import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { acceptBaseline, compareRuns, runSuite } from '../../src/tool/index.ts';
import { Agent, saying } from '../suite/agent.ts';
import { temporaryFolder } from '../support.ts';

describe('suites as a library', () => {
  test('are run, compared and accepted, and the answers say where everything lies', async () => {
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
    ['an option that is not known', () => compare({ baseline: 'a', new: 'b' }), 'does not know the option "new"'],
    ['a side that is missing', () => compare({ baseline: 'baseline' }), 'compareRuns needs candidate'],
    ['nothing at all', () => compare(), 'compareRuns needs baseline'],
    ['a suite for nobody', () => run({ cases: 'cases.json', as: 'new' }), 'baseUrl'],
    ['a suite without a side', () => run({ cases: 'cases.json' }), 'as is "baseline" or "new"'],
  ] as const)('refuse %s in a sentence', async (_, act, words) => {
    await expect(act()).rejects.toThrow(words);
  });
});
