import { statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import path from 'node:path';

let named: string | undefined;

/** Sets the folder for this user's state, for the whole process. The default is `~/.local/state/proctor`. */
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

/** If sudo leaves HOME at another user's folder, root uses its own home, because that user could not read the state. */
function ownHome(): string {
  const home = homedir();
  if (process.geteuid?.() !== 0) return home;
  return (statSync(home, { throwIfNoEntry: false })?.uid ?? 0) === 0 ? home : userInfo().homedir;
}
