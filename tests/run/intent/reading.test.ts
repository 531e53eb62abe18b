import { expect, test } from 'vitest';
import type { Ending } from '../../../src/contracts/ending.ts';
import { type Bundle, bundle } from '../../../src/contracts/intent/index.ts';
import { intentReading } from '../../../src/run/intent/reading.ts';

const of = (ending: Ending) =>
  intentReading({
    bundle: { ...(bundle.example as Bundle), outputs: [], accept: [] },
    capture: { ending, command: 2 },
    output: { ok: true, files: [], bytesTotal: 0, notes: { hidden: [], emptyFoldersDropped: 0 } },
    files: new Map(),
    checks: [],
  });

test.each<[Ending, number, string]>([
  [{ how: 'signalled', signal: 'SIGSEGV' }, 139, 'was ended by a signal'],
  [{ how: 'signalled', signal: 'SIGKILL' }, 137, 'was ended by a signal'],
  [{ how: 'killed', by: 'timeout', signal: 'SIGKILL' }, 137, 'was stopped: it exceeded its time limit'],
  [{ how: 'killed', by: 'timeout', signal: 'SIGTERM' }, 143, 'was stopped: it exceeded its time limit'],
  [{ how: 'not_started', code: 126 }, 126, 'could not be started: it is not executable'],
])('describes %j without details that vary between runs', (ending, code, words) => {
  expect(of(ending)).toMatchObject({ exitCode: code, reasons: [`commands[2] ${words}.`] });
});
