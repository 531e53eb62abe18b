import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { temporaryFolder } from '../support.ts';

/** A folder for PATH, with one program in it: a stand-in that is called as the real agent is. */
export function agentFolder(agent: 'claude' | 'codex'): string {
  const folder = temporaryFolder();
  placeAgent(agent, folder);
  return folder;
}

/** One file, as it must be to work where nothing else of ours is. */
export function placeAgent(agent: 'claude' | 'codex', folder: string): string {
  const outfile = path.join(folder, agent);
  buildSync({
    entryPoints: [path.join(import.meta.dirname, `${agent}.ts`)],
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    banner: { js: '#!/usr/bin/env node' },
  });
  chmodSync(outfile, 0o755);
  return outfile;
}

/** A repository with one commit on `main`, for an agent to work in. */
export function repositoryFolder(files: Readonly<Record<string, string>> = { 'README.md': 'A project.\n' }): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  gitIn(folder, 'init', '-q', '-b', 'main');
  gitIn(folder, 'config', 'user.name', 'somebody');
  gitIn(folder, 'config', 'user.email', 'somebody@example.org');
  gitIn(folder, 'add', '--all');
  gitIn(folder, 'commit', '-q', '-m', 'One');
  return folder;
}

export function gitIn(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
}
