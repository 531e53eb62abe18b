/** A process that writes lines into a ledger, and says the name of each run when its line lasts: HOME NAME COUNT. */
import { writeSync } from 'node:fs';
import { bytesHash } from '../../src/base/hash.ts';
import { appendLines } from '../../src/evidence/ledger.ts';
import { holdName } from '../../src/execute/slots.ts';

const [home = '', name = '', count = '0'] = process.argv.slice(2);
for (let number = 0; number < Number(count); number++) {
  const run_id = `${name}-${number}`;
  const sealed_at = new Date().toISOString();
  const entry = { run_id, kind: 'script', sealed_at, seal_sha256: bytesHash(run_id), intent: null } as const;
  const { added } = await appendLines(home, [entry], holdName);
  if (added.length === 1) writeSync(1, `${run_id}\n`);
}
