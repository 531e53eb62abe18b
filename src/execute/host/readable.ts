import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Whether a run can read a folder of git objects. When Proctor runs as root, every run has a different user. */
export function isWorldReadable(folder: string): boolean {
  if (process.geteuid?.() !== 0) return true;
  try {
    const pack = path.join(folder, 'pack');
    return isReachable(folder) && [folder, ...below(folder), ...below(pack)].every(isOpen);
  } catch {
    return false;
  }
}

/** Whether every user can enter all parent folders. */
export function isReachable(file: string): boolean {
  const above = path.dirname(file);
  return (statSync(above).mode & 0o001) !== 0 && (above === path.dirname(above) || isReachable(above));
}

function below(folder: string): string[] {
  return readdirSync(folder).map(name => path.join(folder, name));
}

function isOpen(place: string): boolean {
  const stat = statSync(place);
  return (stat.mode & (stat.isDirectory() ? 0o005 : 0o004)) === (stat.isDirectory() ? 0o005 : 0o004);
}
