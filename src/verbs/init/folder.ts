import { opendirSync } from 'node:fs';
import path from 'node:path';
import { readJson } from '../../base/json.ts';
import { readRegular } from '../../base/regular.ts';

/** Whether a folder has nothing but hidden files, such as .git. */
export function isEmptyFolder(folder: string): boolean {
  return sortedNames(folder).every(name => name.startsWith('.'));
}

/** The names in a folder, sorted: any 1,000 of them if there are more. Empty if the folder cannot be read. */
export function sortedNames(folder: string): string[] {
  const names: string[] = [];
  try {
    const opened = opendirSync(folder);
    try {
      for (let entry = opened.readSync(); entry && names.length < NAMES_MAX; entry = opened.readSync())
        names.push(entry.name);
    } finally {
      opened.closeSync();
    }
  } catch {
    return [];
  }
  return names.sort();
}

const NAMES_MAX = 1_000;

/** A project name from the name of a folder. */
export function nameOfFolder(folder: string): string {
  const name = path
    .basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60);
  return name === '' ? 'my-project' : name;
}

/** The text of a file in the folder; undefined for a link or a file larger than 256 KiB. */
export function smallText(folder: string, file: string): string | undefined {
  return readRegular(path.join(folder, file), SMALL_FILE_BYTES_MAX)?.toString();
}

export const SMALL_FILE_BYTES_MAX = 256 * 1024;

/** A JSON object; undefined for anything else. */
export function jsonObjectIn(bytes: Uint8Array | undefined): Readonly<Record<string, unknown>> | undefined {
  const reading = bytes && readJson(bytes, { bytesMax: DOCUMENT_BYTES_MAX });
  return reading?.ok ? asObject(reading.value) : undefined;
}

/** The limit of documents that init reads: OpenAPI files and replies of servers. */
export const DOCUMENT_BYTES_MAX = 1024 * 1024;

export function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** An own member of an object; undefined if there is none, or if the value is not an object. */
export function memberOf(value: unknown, key: string): unknown {
  const object = asObject(value);
  return object && Object.hasOwn(object, key) ? object[key] : undefined;
}
