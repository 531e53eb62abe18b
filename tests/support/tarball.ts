import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { ROOT } from './support.ts';

/** Packs the built checkout into a folder, as `npm pack` does, and returns the tarball. */
export function packInto(folder: string): string {
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const said = execFileSync('npm', words, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const [{ filename }] = JSON.parse(said) as [{ filename: string }];
  return path.join(folder, filename);
}

/** The Node releases that the deep tests use, by line. */
export function nodeReleases(): ReadonlyMap<string, string> {
  const said = execFileSync(process.execPath, [path.join(ROOT, 'scripts', 'nodes.mjs')], { encoding: 'utf8' });
  const lines = said.trim().split('\n');
  return new Map(lines.map(line => line.split(' ', 2) as [string, string]));
}
