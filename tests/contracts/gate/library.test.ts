import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import * as library from '../../../src/contracts/gate/decide/library.ts';
import { ROOT } from '../../support/support.ts';

test('proctor/gate exports the functions that docs/ci.md describes, and no others', () => {
  const [, section = ''] = readFileSync(path.join(ROOT, 'docs', 'ci.md'), 'utf8').split('## Use the gate as a library');
  const named = Object.keys(library).sort();
  expect(named).toEqual(['casesToAskAgain', 'decideMetric', 'decideTrials']);
  for (const name of named) expect(section).toContain(name);
});
