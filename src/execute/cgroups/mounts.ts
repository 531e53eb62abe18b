import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export interface CgroupMount {
  readonly folder: string;
  /** The group of this process: `folder` or a folder below it. */
  readonly own: string;
}

/** This machine's control groups. It may have both versions, with each controller in one of them. */
export interface CgroupMounts {
  readonly v1: Readonly<Partial<Record<Controller, CgroupMount>>>;
  readonly v2?: CgroupMount;
}

type Controller = 'memory' | 'pids' | 'cpuacct' | 'cpu';

export async function cgroupMounts(): Promise<CgroupMounts> {
  const [mountinfo, own] = await Promise.all(['/proc/self/mountinfo', '/proc/self/cgroup'].map(textOf));
  return parseMounts(mountinfo ?? '', own ?? '');
}

/** Parses /proc/self/mountinfo and /proc/self/cgroup, which are empty on other systems. */
export function parseMounts(mountinfo: string, ownGroups: string): CgroupMounts {
  const v1: Partial<Record<Controller, CgroupMount>> = {};
  let v2: CgroupMount | undefined;
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', folder = ''] = before.split(' ').map(unescaped);
    const [type, , options = ''] = after.split(' ');
    if (type === 'cgroup2') v2 ??= mountAt(folder, root, ownPath(ownGroups, ''));
    if (type !== 'cgroup') continue;
    for (const controller of CONTROLLERS) {
      if (options.split(',').includes(controller)) {
        v1[controller] ??= mountAt(folder, root, ownPath(ownGroups, controller));
      }
    }
  }
  return { v1, ...(v2 && { v2 }) };
}

const CONTROLLERS: readonly Controller[] = ['memory', 'pids', 'cpuacct', 'cpu'];

/** The path in /proc/self/cgroup for a controller. The unified hierarchy has an empty name. */
function ownPath(ownGroups: string, controller: string): string {
  for (const line of ownGroups.split('\n')) {
    const [, controllers = '', ...rest] = line.split(':');
    if (rest.length > 0 && controllers.split(',').includes(controller)) return rest.join(':');
  }
  return '/';
}

/** In a container, the mount may show only a part of the hierarchy, and the path may be relative to another root. */
function mountAt(folder: string, root: string, own: string): CgroupMount {
  const below = root !== '/' && (own === root || own.startsWith(`${root}/`)) ? own.slice(root.length) : own;
  const place = path.join(folder, below);
  const isBelow = place === folder || place.startsWith(`${folder}/`);
  return { folder, own: isBelow && existsSync(place) ? place.replace(/(?<=.)\/$/, '') : folder };
}

/** Spaces in mount paths are written as octal escapes. */
function unescaped(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return '';
  }
}
