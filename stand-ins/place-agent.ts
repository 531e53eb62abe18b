import { chmodSync } from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';

/**
 * Writes a stand-in into a folder under the name of the real agent. It is one file, so that it works without this
 * repository.
 */
export function placeAgent(agent: 'claude' | 'codex', folder: string): string {
  const outfile = path.join(folder, agent);
  buildSync({
    // Not relative to this file, which benchmarks bundle into another one.
    entryPoints: [path.join('stand-ins', `${agent}.ts`)],
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    banner: { js: '#!/usr/bin/env node' },
  });
  chmodSync(outfile, 0o755);
  return outfile;
}
