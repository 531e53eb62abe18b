// Builds the published package: one bundle per entry point, split so that each command loads only the code it needs.
// It builds beside `dist` and moves the files in when all are ready, so that running programs keep working.
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { moveInto } from './move-into.mjs';

process.chdir(path.dirname(import.meta.dirname));
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const beside = path.join('build', `dist-${process.pid}`);
process.on('exit', () => rmSync(beside, { recursive: true, force: true }));

const common = {
  outdir: beside,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  define: { PROCTOR_VERSION: JSON.stringify(version) },
  // Only the commands that need these packages load them.
  external: ['@hono/node-server', 'ajv', 'commander', 'hono', 're2js', 'undici', 'yaml'],
};

/** Scripts call runner-verify once per record, so it is a single file: each further module adds a millisecond. */
const alone = {
  name: 'alone',
  setup(build) {
    build.onResolve({ filter: /^\.\/(?:commands\/)?runner-verify\.ts$/ }, () => ({
      path: './runner-verify.js',
      external: true,
    }));
  },
};

/** Bundled packages that call `require`, which a module cannot. Each becomes a file of its own. */
const COMMONJS = ['pg', 'prom-client', 'rate-limiter-flexible'];
const commonjs = {
  name: 'commonjs',
  setup(build) {
    build.onResolve({ filter: new RegExp(`^(?:${COMMONJS.join('|')})$`) }, ({ path: name }) => ({
      path: `./${name}.cjs`,
      external: true,
    }));
  },
};
await build({
  ...common,
  format: 'cjs',
  entryPoints: COMMONJS,
  // pg loads its native variant only on demand, and Proctor never asks for it.
  external: [...common.external, 'pg-native'],
  outExtension: { '.js': '.cjs' },
});

await build({
  ...common,
  entryPoints: {
    'runner-verify': 'src/cli/commands/runner-verify.ts',
    launcher: 'src/execute/launcher/launcher.ts',
    'served-keeper': 'src/execute/served/keeper.ts',
    'file-writer': 'src/execute/host/file-writer.ts',
    'call-answerer': 'src/execute/host/call-answerer.ts',
    'judge-thread': 'src/judge/suite/judge-thread.ts',
    'keep-tree': 'src/execute/worktree/keep-tree.ts',
  },
});
// It runs before every agent, at a path without a package.json, so only the extension can declare the module format.
await build({
  ...common,
  format: 'cjs',
  entryPoints: ['src/execute/model/forward.ts'],
  outExtension: { '.js': '.cjs' },
});
// The sandbox shows it at a path without a package.json.
await build({
  ...common,
  entryPoints: ['src/execute/host/function-harness.ts'],
  outExtension: { '.js': '.mjs' },
});
/** They load the other files, so they move last. */
const entryPoints = {
  proctor: 'src/cli/proctor.ts',
  index: 'src/verbs/index.ts',
  'reading-thread': 'src/verbs/reading/reading-thread.ts',
  verify: 'src/verify/index.ts',
  contracts: 'src/contracts/index.ts',
  gate: 'src/contracts/gate/decide/library.ts',
  client: 'src/client/index.ts',
};
await build({
  ...common,
  entryPoints,
  splitting: true,
  plugins: [alone, commonjs],
});
// Code and styles of the HTML pages. Proctor reads them as text and embeds them in each page.
await build({
  entryPoints: [
    { in: 'web/report/main.tsx', out: 'report' },
    { in: 'web/report/report.css', out: 'report' },
    { in: 'web/pages/main.tsx', out: 'pages' },
    { in: 'web/pages/pages.css', out: 'pages' },
    { in: 'web/live/main.tsx', out: 'live' },
    { in: 'web/live/live.css', out: 'live' },
  ],
  outdir: path.join(beside, 'page'),
  bundle: true,
  minify: true,
  format: 'iife',
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
});
chmodSync(path.join(beside, 'proctor.js'), 0o755);
const types = ['-p', 'tsconfig.types.json', '--outDir', path.join(beside, 'types')];
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...types], { stdio: 'inherit' });
moveInto('dist', beside, { last: Object.keys(entryPoints).map(name => `${name}.js`) });
