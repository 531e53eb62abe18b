import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from '../tests/support/support.ts';
import { gitIn } from './git.ts';
import { placeAgent } from './place-agent.ts';

/** A folder for PATH with one stand-in, under the name of the real agent. */
export function agentFolder(agent: 'claude' | 'codex'): string {
  const folder = temporaryFolder();
  placeAgent(agent, folder);
  return folder;
}

/** A repository with one commit on `main`. */
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
