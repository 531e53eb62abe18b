// Installs the agents for `npm run test:agents`, at fixed versions, into a cache outside the repository, and prints the
// folder to add to PATH. An existing installation is reused.
// Exit code 75: the agents are not available. The last line on stderr says why.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

const CANNOT_BE_HAD = 75;
const INSTALL_MS_MAX = 600_000;
const VERSION_MS_MAX = 60_000;

/** `program` is relative to node_modules. Claude's main package requires a newer Node; its native packages do not. */
const AGENTS = [
  {
    name: 'claude',
    packageName: `@anthropic-ai/claude-code-linux-${process.arch}`,
    version: '2.1.325',
    program: `@anthropic-ai/claude-code-linux-${process.arch}/claude`,
  },
  { name: 'codex', packageName: '@openai/codex', version: '0.166.0', program: '.bin/codex' },
];

const cache =
  process.env.PROCTOR_AGENTS_CACHE ||
  path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'proctor-agents');

if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch))
  cannotBeHad(`there are no packages for ${process.platform} on ${process.arch}`);
mkdirSync(cache, { recursive: true });
for (const leftover of readdirSync(cache).filter(isLeftover))
  rmSync(path.join(cache, leftover), { recursive: true, force: true });
const versions = AGENTS.map(({ name, version }) => `${name}-${version}`).join('-');
const folder = path.join(cache, `${versions}-${process.arch}`);
if (!existsSync(folder)) install();
console.log(path.join(folder, 'bin'));

/** Installs into a partial folder and renames it, so that an existing folder is always complete. */
function install() {
  const partial = `${folder}.partial-${process.pid}`;
  process.on('exit', () => rmSync(partial, { recursive: true, force: true }));
  mkdirSync(path.join(partial, 'bin'), { recursive: true });
  for (const { name, packageName, version, program } of AGENTS) {
    console.error(`Installing ${name} ${version} …`);
    npm(path.join(partial, name), `${packageName}@${version}`);
    const link = path.join(partial, 'bin', name);
    symlinkSync(path.join('..', name, 'node_modules', program), link);
    const said = spawnSync(link, ['--version'], {
      encoding: 'utf8',
      timeout: VERSION_MS_MAX,
      env: { PATH: process.env.PATH, HOME: partial },
    });
    if (!said.stdout?.includes(version)) cannotBeHad(`${name} was installed but does not start`);
  }
  try {
    renameSync(partial, folder);
  } catch (error) {
    // Another process installed them first.
    if (!existsSync(folder)) throw error;
  }
}

function npm(prefix, wanted) {
  const args = [
    'install',
    '--prefix',
    prefix,
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--loglevel=error',
    wanted,
  ];
  const { status, stderr, error } = spawnSync('npm', args, { encoding: 'utf8', timeout: INSTALL_MS_MAX, cwd: cache });
  if (status !== 0) cannotBeHad(`npm cannot install ${wanted}: ${reasonIn(stderr) ?? error?.code ?? `exit ${status}`}`);
}

/** Returns npm's error code, such as `ENOTFOUND` or `E404`. */
function reasonIn(text) {
  return /npm (?:error|ERR!) code (\S+)/.exec(text ?? '')?.[1];
}

function isLeftover(entry) {
  const [, pid] = /\.partial-(\d+)$/.exec(entry) ?? [];
  return pid !== undefined && !existsSync(`/proc/${pid}`);
}

function cannotBeHad(why) {
  console.error(`THE REAL AGENTS ARE NOT AVAILABLE: ${why}.`);
  process.exit(CANNOT_BE_HAD);
}
