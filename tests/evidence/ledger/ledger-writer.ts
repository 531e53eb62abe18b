/** Writes lines into a ledger, and prints the name of each run once its line is durable. */
import { writeSync } from 'node:fs';
import { bytesHash } from '../../../src/base/hash.ts';
import { appendLines } from '../../../src/evidence/ledger/ledger.ts';
import { takeLock } from '../../../src/execute/host/locks.ts';

/** The options, as JSON. */
export interface Task {
  readonly home: string;
  readonly name: string;
  readonly count: number;
}

const { home, name, count } = JSON.parse(process.argv[2] as string) as Task;
for (let number = 0; number < count; number++) {
  const run_id = `${name}-${number}`;
  const sealed_at = new Date().toISOString();
  const entry = { run_id, kind: 'script', sealed_at, seal_sha256: bytesHash(run_id), intent: null } as const;
  const { added } = await appendLines(home, [entry], takeLock);
  if (added.length === 1) writeSync(1, `${run_id}\n`);
}
