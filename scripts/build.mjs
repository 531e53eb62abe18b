// Builds what is published: one bundle per door, split so that each command loads only its own rooms.
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
  // Packages with requires of their own; only the commands that need them load them.
  external: ['ajv', 'commander', 're2js', 'undici', 'yaml'],
};

/** Scripts call runner-verify once per record, so it is one file that loads no other: each further module costs a millisecond. */
const alone = {
  name: 'alone',
  setup(build) {
    build.onResolve({ filter: /^\.\/runner-verify\.ts$/ }, () => ({ path: './runner-verify.js', external: true }));
  },
};

rmSync('dist', { recursive: true, force: true });
await build({
  ...common,
  entryPoints: {
    'runner-verify': 'src/cli/commands/runner-verify.ts',
    launcher: 'src/execute/launcher/launcher.ts',
    'file-writer': 'src/execute/host/file-writer.ts',
    'call-answerer': 'src/execute/host/call-answerer.ts',
    'judge-thread': 'src/judge/suite/judge-thread.ts',
    'keep-tree': 'src/execute/worktree/keep-tree.ts',
  },
});
// It runs in front of every agent, at a path where no package says what its files are.
await build({ ...common, format: 'cjs', entryPoints: ['src/execute/model/forward.ts'], outExtension: { '.js': '.cjs' } });
await build({
  ...common,
  entryPoints: {
    proctor: 'src/cli/proctor.ts',
    index: 'src/verbs/index.ts',
    verify: 'src/verify/index.ts',
    contracts: 'src/contracts/index.ts',
    gate: 'src/contracts/gate/decide/index.ts',
  },
  splitting: true,
  plugins: [alone],
});
// The page of the HTML reports: read as text at run time and written into each of them.
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
