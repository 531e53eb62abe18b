import { mkdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, Fault, fullDisk } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { OWN_FILE, OWN_FOLDER } from '../../base/private.ts';
import { makeServerFolder } from '../../publish/server-folder.ts';
import type { ClientSlots } from '../operation/slots.ts';

/** A new folder for what a client sends. */
export function makeUploadFolder(home: string): string {
  const folder = path.join(uploadsIn(home), newCorrelationId());
  makeServerFolder(home, path.dirname(folder));
  mkdirSync(folder, { mode: OWN_FOLDER });
  return folder;
}

/** Removes uploads and packs that a server left when it was killed. Only one server of a project runs at a time. */
export function dropPassing(home: string): void {
  for (const folder of [uploadsIn(home), path.join(home, 'server', 'packs')]) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // They only take up space, and the next server tries again.
    }
  }
}

const uploadsIn = (home: string): string => path.join(home, 'server', 'uploads');

/** Takes a slot for a body that may be large. Small bodies are cheap, and programs send many at once. */
export function takeForBody(slots: ClientSlots, identity: string, request: Request): () => void {
  const stated = request.headers.get('content-length');
  return stated !== null && Number(stated) <= SMALL_BYTES ? () => undefined : slots.take(identity);
}

const SMALL_BYTES = 1024 ** 2;

/** A body that was stored as a file. */
export interface ReceivedBody {
  readonly file: string;
  readonly bytes: number;
  drop(): void;
}

/** Stores a body as one file until `drop`. The stated length is only a first check. */
export async function receiveBody(request: Request, home: string, bytesMax: number): Promise<ReceivedBody> {
  const tooLarge = new Fault('body_too_large', `The body is larger than ${bytesMax} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge;
  const folder = makeUploadFolder(home);
  const drop = (): void => rmSync(folder, { recursive: true, force: true });
  const file = path.join(folder, 'body');
  try {
    let bytes = 0;
    const handle = await open(file, 'wx', OWN_FILE);
    try {
      for await (const piece of (request.body ?? []) as AsyncIterable<Uint8Array>) {
        bytes += piece.length;
        if (bytes > bytesMax) throw tooLarge;
        await handle.writeFile(piece);
      }
    } finally {
      await handle.close();
    }
    return { file, bytes, drop };
  } catch (cause) {
    drop();
    if (cause instanceof Fault) throw cause;
    if (codeOf(cause) === '') throw new Fault('upload_cut', 'The upload ended too early.', { cause });
    throw new Fault('write_failed', `The upload could not be stored${fullDisk(cause)}.`, { cause });
  }
}
