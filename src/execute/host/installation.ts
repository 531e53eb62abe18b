import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

/**
 * What a sandbox must show so that a program outside of the machine's own folders runs: the folder of its runtime, such
 * as ~/.nvm/versions/node/v22.1.0, or else the program alone. Never a home folder, because it contains more than the runtime.
 */
export function installationOf(program: string): string {
  const folder = path.dirname(path.dirname(program));
  const isRuntime = path.basename(path.dirname(program)) === 'bin' && !isShared(folder) && hasRuntime(folder);
  return isRuntime ? folder : program;
}

/** A program may be a symlink into another installation, such as `python` in a virtual environment. */
export function installationsOf(program: string): string[] {
  const places = [program, realpathSync(program)].filter(place => !isMachines(place)).map(installationOf);
  const all = [...new Set(places)];
  return all.filter(place => !all.some(other => place.startsWith(`${other}/`)));
}

/** Whether a path is in a folder of the operating system. Sandboxes show these folders, or parts of them. */
export function isMachines(file: string): boolean {
  return /^\/(?:usr|bin|sbin|lib\w*|nix\/store|etc)\//.test(file);
}

/** Whether a sandbox can show a path. It uses these folders itself. */
export function isShowable(file: string): boolean {
  return !/^\/(?:work|agent|proc|dev|opt\/proctor)(?:\/|$)/.test(file);
}

function hasRuntime(folder: string): boolean {
  if (RUNTIME_PARTS.some(part => existsSync(path.join(folder, part)))) return true;
  try {
    return readdirSync(path.join(folder, 'lib')).some(name => /^python3\.\d+$/.test(name));
  } catch {
    return false;
  }
}

/** Parts that only the folder of a runtime has. */
const RUNTIME_PARTS = [
  'lib/node_modules/npm',
  'include/node/node.h',
  'pyvenv.cfg',
  'lib/ruby/gems',
  'lib/perl5',
] as const;

/** Folders that contain more than one installation: homes and what is above them, `~/.local`, and top-level folders. */
function isShared(folder: string): boolean {
  const home = homedir();
  const isHome = `${home}/`.startsWith(`${folder}/`) || /^\/(?:home\/[^/]+|root)$/.test(folder);
  return isHome || path.basename(folder) === '.local' || path.dirname(folder) === '/';
}
