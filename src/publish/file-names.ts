import { clip } from '../base/clip.ts';
import { isDeviceName } from '../base/path.ts';
import { printable } from '../base/printable.ts';

/** The name of an uploaded file as people may see it: the last part of a path, without characters that mislead. */
export function safeLabel(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const plain = withoutControls(last.isWellFormed() ? last : '').trim();
  return plain === '' ? 'file' : clip(plain, LABEL_BYTES_MAX).text;
}

const LABEL_BYTES_MAX = 200;

/** A name that every system can store a download under. Never empty, never a path, never a device. */
export function downloadName(name: string): string {
  const plain = safeLabel(name)
    .replace(/[<>:"|?*]/g, '_')
    .replace(/[. ]+$/, '')
    .replace(/^\.+/, '');
  if (plain === '') return 'file';
  return isDeviceName(plain) ? `_${plain}` : plain;
}

/** The path of a download in an archive. Segments are made safe one by one, so no path can leave the folder. */
export function archivePath(file: string): string {
  return file.split('/').map(downloadName).join('/');
}

/** Makes names unique, ignoring case, as `report (2).pdf`. Systems that ignore case would overwrite a file otherwise. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map(name => {
    const dot = name.lastIndexOf('.') > name.lastIndexOf('/') + 1 ? name.lastIndexOf('.') : name.length;
    let free = name;
    for (let number = 2; taken.has(free.normalize('NFKC').toLowerCase()); number++)
      free = `${name.slice(0, dot)} (${number})${name.slice(dot)}`;
    taken.add(free.normalize('NFKC').toLowerCase());
    return free;
  });
}

/** Drops controls, bidirectional marks and zero-width characters. */
function withoutControls(text: string): string {
  return Array.from(text)
    .filter(character => printable(character) === character)
    .join('');
}

/** The lower-case extension of a name, such as `.csv`; empty if it has none that is plain. */
export function extensionOf(name: string): string {
  return /\.[a-z0-9]{1,10}$/.exec(safeLabel(name).toLowerCase())?.[0] ?? '';
}
