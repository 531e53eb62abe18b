/** `npm start`: the verifier at work on a good and a broken record of every format. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeAtomic } from '../src/base/atomic.ts';
import { canonicalize } from '../src/base/canonical.ts';
import { loadContracts } from '../src/contracts/catalogue.ts';
import { verify } from '../src/verify/index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-start-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.chdir(folder);
mkdirSync('good');
mkdirSync('broken');

console.log('Proctor verifies evidence. Here is a good and a broken record of every format it knows:\n');
let isAsPromised = true;
for (const contract of await loadContracts()) {
  const rule = contract.rules.findLast(({ check }) => check !== undefined) ?? contract.rules[0];
  const records = { good: contract.example, broken: rule?.breach(structuredClone(contract.example) as never) };
  for (const [kind, record] of Object.entries(records)) {
    const file = `${kind}/${contract.name}.json`;
    writeAtomic(file, canonicalize(record));
    for await (const { outcome, violations, hash } of verify([file], { as: contract.name, internal: true })) {
      isAsPromised &&= (outcome === 'valid') === (kind === 'good');
      const said =
        outcome === 'valid'
          ? `valid, ${hash?.slice(0, 23)}…`
          : violations.map(({ rule_id, message }) => `${rule_id}: ${message}`).join(' ');
      console.log(`  ${outcome === 'valid' ? '✓' : '✗'} ${file.padEnd(28)} ${said}`);
    }
  }
}
console.log(`
Now with something of your own:

  npx proctor verify FILE…        is it valid, and which rules does it break? (files, folders, *.ndjson, -)
  npx proctor explain RN7         what does a rule ask for, and why?
  npx proctor schema runner       the JSON Schema of a format; without a name, all names`);
if (!isAsPromised) process.exitCode = 1;
