import { chmodSync, closeSync, constants, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';

/** The folder of a stage that is shown inside, and the socket in it at which somebody listens. */
export interface DoorFolder {
  readonly socket: string;
  /**
   * Where to listen. The kernel takes 107 bytes for the address of a socket, and Node cuts what is longer without a word; by
   * the number of the open folder it is always short.
   */
  readonly address: string;
  /** After whoever listens has ended, who takes the socket away by its address. */
  close(): void;
}

export function openDoorFolder(stage: string): DoorFolder {
  const folder = path.join(stage, 'door');
  mkdirSync(folder, { recursive: true });
  // Whatever the mask of new files is.
  chmodSync(folder, 0o755);
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return {
    socket: path.join(folder, SOCKET),
    address: `/proc/self/fd/${fd}/${SOCKET}`,
    close: () => closeSync(fd),
  };
}

const SOCKET = 'model.sock';
