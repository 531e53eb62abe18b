import { chmodSync, closeSync, constants, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';

/** The stage folder that contains the model proxy's socket and is visible in the sandbox. */
export interface DoorFolder {
  readonly socket: string;
  /** Where to listen: through the descriptor of the folder, because a socket address has at most 107 bytes. */
  readonly address: string;
  /** Call this after the server has closed, because it removes the socket by its address. */
  close(): void;
}

export function openDoorFolder(stage: string): DoorFolder {
  const folder = path.join(stage, 'door');
  mkdirSync(folder, { recursive: true });
  // Independent of the umask.
  chmodSync(folder, 0o755);
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return {
    socket: path.join(folder, SOCKET),
    address: `/proc/self/fd/${fd}/${SOCKET}`,
    close: () => closeSync(fd),
  };
}

const SOCKET = 'model.sock';
