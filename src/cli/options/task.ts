import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';

interface TaskFlags {
  readonly task?: string;
  readonly taskFile?: string;
}

/** The task from the flag or the file. */
export function taskOf({ task, taskFile }: TaskFlags): string {
  if ((task === undefined) === (taskFile === undefined))
    throw new Fault('usage', 'Pass the task with either --task or --task-file.');
  if (task !== undefined) return task;
  const shown = `The task file ${printable(path.basename(taskFile as string))}`;
  const bytes = bytesIn(taskFile as string, shown);
  if (bytes.length > TASK_BYTES_MAX)
    throw new Fault('usage', `${shown} is too large: the limit for a task is 512 KiB.`);
  if (!isUtf8(bytes)) throw new Fault('usage', `${shown} is not UTF-8 text.`);
  return new TextDecoder().decode(bytes);
}

/** Reads at most `TASK_BYTES_MAX` + 1 bytes, because standard input may never end. Rejects a FIFO: it could block. */
function bytesIn(file: string, shown: string): Buffer {
  const bytes = Buffer.alloc(TASK_BYTES_MAX + 1);
  let fd: number | undefined;
  try {
    if (file !== '-' && !statSync(file).isFile()) throw new Fault('usage', `${shown} is not a file.`);
    fd = file === '-' ? 0 : openSync(file, 'r');
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(fd, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('usage', `${shown} cannot be read.`, { cause });
  } finally {
    if (fd !== undefined && fd !== 0) closeSync(fd);
  }
}

/** Far above the limit of 512 KiB, so that the error for most large tasks can state their size. */
const TASK_BYTES_MAX = 8 * 1024 * 1024;
