import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { testProject } from '../../../src/verbs/test/test-project.ts';
import { PROJECT, projectFolder, WORSE } from './world.ts';

afterAll(closeLauncher);

test('reports of a repeated suite without a baseline list the missed limit and the line of the failing case', async () => {
  const dir = projectFolder(PROJECT.replace('target: desk', 'target: desk\n    repeat: 2'));
  writeFileSync(path.join(dir, 'agent.mjs'), WORSE);
  const formats = ['annotations', 'junit', 'codequality'] as const;
  const { suites, exitCode } = await testProject({ cwd: dir, formats, environment: process.env });
  expect(exitCode).toBe(1);
  const [read] = suites.map(
    ({ reports }) =>
      (format: (typeof formats)[number]) =>
        readFileSync(reports[format] ?? '', 'utf8'),
  );
  expect(read?.('annotations')).toMatch(/^::error file=proctor\/cases\.yaml,title=max_failing%3A limit not met::/);
  expect(read?.('annotations')).toMatch(
    /^::error file=proctor\/cases\.yaml,line=\d+,title=returns%3A failing::must_include/m,
  );
  expect(read?.('junit')).toContain('<testsuite name="proctor limits" tests="1" failures="1"');
  expect(JSON.parse(read?.('codequality') ?? '')).toHaveLength(2);
});
