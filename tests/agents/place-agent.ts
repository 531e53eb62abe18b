import { chmodSync } from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';

/** Puts a stand-in into a folder, called as the real agent is: one file, as it must be to work where nothing else of ours is. */
export function placeAgent(agent: 'claude' | 'codex', folder: string): string {
  const outfile = path.join(folder, agent);
  buildSync({
    // Not by the place of this file: in a benchmark it is part of another.
    entryPoints: [path.join('tests', 'agents', `${agent}.ts`)],
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    banner: { js: '#!/usr/bin/env node' },
  });
  chmodSync(outfile, 0o755);
  return outfile;
}
