// Runs a TypeScript file in this repository: `node scripts/run.mjs FILE.ts ARGS…`. Node 20 cannot strip types.
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(import.meta.dirname);
const [file] = process.argv.splice(2, 1);
if (!file) {
  console.error('Usage: node scripts/run.mjs FILE.ts ARGS…');
  process.exit(2);
}
const folder = mkdtempSync(path.join(root, 'node_modules', '.run-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const outfile = path.join(folder, 'main.mjs');
await build({
  entryPoints: [path.join(root, file)],
  outfile,
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
});
await import(pathToFileURL(outfile).href);
