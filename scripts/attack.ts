/**
 * `npm run attack`: runs every attack test against the current build, as root and as an ordinary user, and counts the
 * attacks that Proctor stopped. The ordinary user gets a readable copy of the checkout.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = process.cwd();
/** `nobody`: on every machine, a user without privileges or control groups. */
const ORDINARY = 65_534;
const RESULTS = 'node_modules/.vitest/attack.json';
const MINUTES_MAX = 20;

interface Assertion {
  readonly status: string;
  readonly fullName: string;
}

const isRoot = process.getuid?.() === 0;
const parts = [attackAs(isRoot ? 'root' : 'ordinary user', root)];
if (isRoot) parts.push(attackAsOrdinaryUser());
for (const { user, held, total, skipped, broken } of parts) {
  for (const name of broken) console.log(`not stopped, ${user}: ${name}`);
  console.log(
    `${user}: ${held}/${total} stopped${skipped > 0 ? `, ${skipped} skipped because they need root or another kernel` : ''}`,
  );
}
if (!isRoot) console.log('root: not tested. Run as root to test both users.');
process.exitCode = parts.every(({ isWhole }) => isWhole) ? 0 : 1;

interface Part {
  readonly user: string;
  readonly held: number;
  readonly total: number;
  readonly skipped: number;
  readonly broken: readonly string[];
  /** The run completed, and no attack succeeded. */
  readonly isWhole: boolean;
}

function attackAs(
  user: string,
  folder: string,
  as: { uid?: number; gid?: number; env?: NodeJS.ProcessEnv } = {},
): Part {
  console.log(`\nAttacks as ${user}\n`);
  rmSync(path.join(folder, RESULTS), { force: true });
  const vitest = path.join(folder, 'node_modules/vitest/vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', 'vitest.attack.config.ts'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: MINUTES_MAX * 60_000,
    ...as,
  });
  const { success = false, testResults = [] } = resultsIn(folder);
  const attempts = testResults.flatMap(({ assertionResults }) => assertionResults);
  const withStatus = (wanted: string): Assertion[] => attempts.filter(attempt => attempt.status === wanted);
  const broken = withStatus('failed').map(({ fullName }) => fullName);
  const held = withStatus('passed').length;
  const total = held + broken.length;
  return {
    user,
    held,
    total,
    skipped: attempts.length - total,
    broken,
    isWhole: status === 0 && success && total > 0 && broken.length === 0,
  };
}

function resultsIn(folder: string): { success?: boolean; testResults?: { assertionResults: Assertion[] }[] } {
  try {
    return JSON.parse(readFileSync(path.join(folder, RESULTS), 'utf8')) as ReturnType<typeof resultsIn>;
  } catch {
    // The run did not finish; its exit code shows that.
    return {};
  }
}

function attackAsOrdinaryUser(): Part {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-attack-'));
  try {
    const copy = path.join(folder, 'checkout');
    const home = path.join(folder, 'home');
    chmodSync(folder, 0o755);
    for (const made of [copy, home]) {
      mkdirSync(made, { mode: 0o755 });
      chownSync(made, ORDINARY, ORDINARY);
    }
    copyCheckout(copy);
    const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', ...(process.env.CI && { CI: process.env.CI }) };
    const part = attackAs('ordinary user', copy, { uid: ORDINARY, gid: ORDINARY, env });
    const results = path.join(copy, RESULTS);
    if (existsSync(results)) copyFileSync(results, path.join(root, 'node_modules/.vitest/attack-user.json'));
    return part;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies everything that the tests read. Hard-links node_modules if the file system allows it, because it is large. */
function copyCheckout(copy: string): void {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  const names = listed.stdout.toString().split('\0').filter(Boolean);
  for (const name of new Set([...names.map(file => file.split('/')[0] ?? ''), 'dist'])) {
    cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
  }
  const linked = spawnSync('cp', ['-al', path.join(root, 'node_modules'), copy]);
  if (linked.status !== 0) spawnSync('cp', ['-a', path.join(root, 'node_modules'), copy]);
  // These folders belong to the user who ran the tests last.
  for (const name of ['.vite', '.vite-temp', '.vitest']) {
    rmSync(path.join(copy, 'node_modules', name), { recursive: true, force: true });
  }
  chownSync(path.join(copy, 'node_modules'), ORDINARY, ORDINARY);
}
