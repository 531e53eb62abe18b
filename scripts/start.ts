/** `npm start`: a good, a hostile and a hanging script, each run inside bounds, and what was kept and proved of each. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = process.cwd();
const folder = mkdtempSync(path.join(tmpdir(), 'proctor-start-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const example = (name: string): string => path.join(root, 'examples', name);

let isAsPromised = true;

console.log('Proctor runs scripts inside bounds that it enforces, and leaves evidence that anyone can verify.\n');
step('A good script. It gets a table, and leaves another one and a result.', 0, [
  'run',
  'script',
  example('report.py'),
  '--input',
  example('orders.csv'),
]);
step('A hostile one. It tries what it must not do, and claims success all the same.', 1, [
  'run',
  'script',
  example('hostile.py'),
]);
step('One that hangs, ignores signals, and hides a child. It gets two seconds.', 1, [
  'run',
  'script',
  example('hanging.sh'),
  '--timeout',
  '2s',
]);
step('What was kept of the last one, and within which bounds it ran:', 0, ['show', 'latest']);
step('Whether the evidence may be believed, offline, on any machine:', 0, ['verify', 'latest']);
step('All runs of this place:', 0, ['list']);

console.log(`These runs lay in a temporary folder, and are gone. Now with something of your own:

  npx proctor run script FILE       docs/scripts.md says what a script finds and leaves
  npx proctor doctor                which sandboxes work here, and what each enforces
  npx proctor verify FILE…          documents of other tools, too: npx proctor explain lists the formats`);
if (!isAsPromised) process.exitCode = 1;

/** Says what comes, shows the command as one would type it, and runs it. */
function step(what: string, exit: number, args: readonly string[]): void {
  console.log(`─── ${what}\n`);
  console.log(`$ proctor ${args.map(arg => arg.replace(`${root}/`, '')).join(' ')}`);
  const { status } = spawnSync(process.execPath, [path.join(root, 'dist', 'proctor.js'), ...args], {
    cwd: folder,
    stdio: 'inherit',
  });
  console.log('');
  isAsPromised &&= status === exit;
}
