import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ROOT } from '../support/support.ts';

test('the fuzzer finds nothing in 30 seconds', () => {
  const said = execFileSync('npm', ['run', '--silent', 'fuzz', '--', '--seconds', '30'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect(said).toMatch(/\d+ documents, no invariant violated/);
});
