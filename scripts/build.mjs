// Builds the published package: one bundle per entry point, split so that each command loads only the code it needs.
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

const common = {
  outdir: 'dist',
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  define: { PROCTOR_VERSION: JSON.stringify(version) },
  // Only the commands that need these packages load them.
  external: ['ajv', 'commander', 're2js', 'undici', 'yaml'],
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

rmSync('dist', { recursive: true, force: true });
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
await build({
  ...common,
  entryPoints: {
    proctor: 'src/cli/proctor.ts',
    index: 'src/verbs/index.ts',
    verify: 'src/verify/index.ts',
    contracts: 'src/contracts/index.ts',
    gate: 'src/contracts/gate/decide/library.ts',
  },
  splitting: true,
  plugins: [alone],
});
// Code and styles of the HTML report. Proctor reads them as text and embeds them in each report.
await build({
  entryPoints: [
    { in: 'web/report/main.tsx', out: 'report' },
    { in: 'web/report/report.css', out: 'report' },
  ],
  outdir: 'dist/page',
  bundle: true,
  minify: true,
  format: 'iife',
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
});
chmodSync('dist/proctor.js', 0o755);
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], { stdio: 'inherit' });
