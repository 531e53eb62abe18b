import { execFileSync } from 'node:child_process';

export function gitIn(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
}
