// Downloads the Node releases that the deep tests use from npm into a cache outside the repository, and prints one line
// per release: its version line, and the path of its program. Reuses a release that is already there.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

const LINES = ['20.19', '22', '24'];
const INSTALL_MS_MAX = 300_000;

const cache =
  process.env.PROCTOR_NODES_CACHE ||
  path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'proctor-nodes');
const name = `node-linux-${process.arch}`;

for (const line of LINES) {
  const folder = path.join(cache, `${line}-${process.arch}`);
  if (!existsSync(folder)) download(line, folder);
  console.log(`${line} ${path.join(folder, 'node_modules', name, 'bin', 'node')}`);
}

/** Downloads into a partial folder and renames it, so that an existing folder is always complete. */
function download(line, folder) {
  const partial = `${folder}.partial-${process.pid}`;
  process.on('exit', () => rmSync(partial, { recursive: true, force: true }));
  mkdirSync(partial, { recursive: true });
  const args = ['install', '--prefix', partial, '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const { status } = spawnSync('npm', [...args, `${name}@${line}`], {
    cwd: partial,
    timeout: INSTALL_MS_MAX,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) {
    console.error(`npm cannot install ${name}@${line}. The deep tests need it.`);
    process.exit(1);
  }
  try {
    renameSync(partial, folder);
  } catch (error) {
    // Another process downloaded it first.
    if (!existsSync(folder)) throw error;
  }
}
