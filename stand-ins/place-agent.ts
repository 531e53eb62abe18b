import { chmodSync } from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';

/**
 * Writes a stand-in into a folder under the name of the real agent. It is one file, so that it works without this
 * repository. With `works`, it asks its model what to do if the task names no actions.
 */
export function placeAgent(agent: 'claude' | 'codex', folder: string, works = false): string {
  const outfile = path.join(folder, agent);
  buildSync({
    // Not relative to this file, which benchmarks bundle into another one.
    entryPoints: [path.join('stand-ins', `${agent}.ts`)],
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    banner: { js: '#!/usr/bin/env node' },
    ...(works && { define: { 'process.env.STAND_IN_WORKS': '"1"' } }),
  });
  chmodSync(outfile, 0o755);
  return outfile;
}
