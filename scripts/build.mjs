// Builds what is published: one bundle per door, split so that each command loads only its own rooms.
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: { proctor: 'src/cli/proctor.ts', verify: 'src/verify/index.ts', contracts: 'src/contracts/index.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  // A CommonJS package with requires of its own; only the commands that need it load it.
  external: ['commander'],
  target: 'node20.19',
  chunkNames: 'chunks/[name]-[hash]',
  define: { PROCTOR_VERSION: JSON.stringify(version) },
});
chmodSync('dist/proctor.js', 0o755);
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], { stdio: 'inherit' });
