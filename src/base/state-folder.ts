import { statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import path from 'node:path';

let named: string | undefined;

/** Names the folder that holds this user's state, for the whole process. The default is `~/.local/state/proctor`. */
export function useStateFolder(folder: string): void {
  named = path.resolve(folder);
}

export function namedStateFolder(): string | undefined {
  return named;
}

/** Throws for a user without a home folder. */
export function stateFolder(): string {
  return named ?? path.join(ownHome(), '.local', 'state', 'proctor');
}

/** With the home of another user, as sudo may leave it, root keeps its state in its own: that user could not use it. */
function ownHome(): string {
  const home = homedir();
  if (process.geteuid?.() !== 0) return home;
  return (statSync(home, { throwIfNoEntry: false })?.uid ?? 0) === 0 ? home : userInfo().homedir;
}
