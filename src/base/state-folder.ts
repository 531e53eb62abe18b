import { homedir } from 'node:os';
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
  return named ?? path.join(homedir(), '.local', 'state', 'proctor');
}
