import { spawn } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { findProgram } from '../../../src/execute/host/programs.ts';
import { programsOf } from '../../../src/execute/sandboxes/left-running.ts';
import { temporaryFolder } from '../../support/support.ts';

test('a document can contain the cut name of a program', async () => {
  const program = path.join(temporaryFolder(), `${'a'.repeat(63)}😀`);
  copyFileSync(findProgram('sleep') ?? '', program);
  const child = spawn(program, ['60'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  // Until it runs the program, the process is a copy of this one.
  await expect.poll(() => programsOf([child.pid ?? 0]).programs[0]).toMatch(/^a+/);
  const left = programsOf([child.pid ?? 0]);
  expect(left).toEqual({ processes: 1, programs: [`${'a'.repeat(63)}\ufffd`] });
  expect(() => canonicalize(left)).not.toThrow();
});
