import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { Mount } from '../job/job.ts';
import {
  firstLineOf,
  isElf,
  isExecutable,
  isProgram,
  isVisible,
  PATH_FOLDERS,
  packageOf,
  shebangOf,
} from '../host/programs.ts';

/** An agent's program on this machine, and how it appears in the sandbox. */
export interface AgentProgram {
  readonly name: string;
  readonly argv0: string;
  /** Its path on this machine. The hash of this file identifies the version. */
  readonly file: string;
  readonly mounts: readonly Mount[];
  /** Its interpreter, if that is outside of the machine's folders. The sandbox shows it at its path. */
  readonly runtimes?: readonly string[];
}

export const AGENT_PATH = ['/agent/bin', ...PATH_FOLDERS].join(':');

/** Searches `searchPath` as a shell does, but ignores relative folders. */
export function findAgentProgram(name: string, searchPath: string): AgentProgram | undefined {
  const found = searchPath
    .split(':')
    .filter(folder => path.isAbsolute(folder))
    .map(folder => path.join(folder, name))
    .find(isExecutable);
  if (found === undefined) return undefined;
  const real = realpathSync(found);
  if (isElf(real)) return native(name, real);
  const binary = binaryBehind(real, name);
  return binary === undefined ? script(name, real) : native(name, binary);
}

/** A binary, alone or with its installation folder. */
function native(name: string, file: string): AgentProgram {
  const folder = installedWith(file, name);
  if (folder === undefined) return shown(name, file, file, `/agent/bin/${name}`);
  return shown(name, file, folder, '/agent/program');
}

/** Some binaries need helper files, which they find relative to the package folder. */
function installedWith(file: string, name: string): string | undefined {
  const above = path.dirname(path.dirname(file));
  const inPackage = nodeModulesOf(file) === undefined ? file : packageOf(file);
  if (inPackage !== file && inPackage !== path.dirname(file)) return inPackage;
  return existsSync(path.join(above, `${name}-package.json`)) ? above : undefined;
}

/** A script runs with the interpreter in its first line. A script in a package needs the package folder. */
function script(name: string, file: string): AgentProgram {
  const modules = nodeModulesOf(file);
  const interpreter = shebangOf(file) ?? '';
  const program = {
    ...(modules === undefined
      ? shown(name, file, file, `/agent/bin/${name}`)
      : shown(name, file, modules, '/agent/node_modules')),
    ...(!isVisible(interpreter) && isProgram(interpreter) && { runtimes: [interpreter] }),
  };
  if (!/^#!.*\bnode\b/.test(firstLineOf(file))) return program;
  return { ...program, mounts: [...program.mounts, { source: process.execPath, target: '/agent/bin/node' }] };
}

/** A program that is visible in every sandbox keeps its path. */
function shown(name: string, file: string, source: string, target: string): AgentProgram {
  if (isVisible(file)) return { name, argv0: file, file, mounts: [] };
  return { name, argv0: target + file.slice(source.length), file, mounts: [{ source, target }] };
}

/** The outermost `node_modules` folder that contains a file. */
function nodeModulesOf(file: string): string | undefined {
  const [before, ...rest] = file.split('/node_modules/');
  return rest.length === 0 ? undefined : `${before}/node_modules`;
}

/** The native binary that an npm package's script would start, if the package declares one. */
function binaryBehind(file: string, name: string): string | undefined {
  const own = packageOf(file);
  if (own === file || nodeModulesOf(file) === undefined) return undefined;
  const packages = [...platformPackagesOf(own).map(dependency => resolved(dependency, own)), own];
  return packages
    .filter(folder => folder !== undefined)
    .flatMap(folder => placesIn(folder, name))
    .find(place => isExecutable(place) && isElf(place));
}

function platformPackagesOf(folder: string): string[] {
  try {
    const said = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as unknown;
    const { optionalDependencies } = said as { optionalDependencies?: Record<string, unknown> };
    return Object.keys(optionalDependencies ?? {}).filter(
      dependency => PACKAGE_NAME.test(dependency) && dependency.endsWith(`-linux-${process.arch}`),
    );
  } catch {
    // Without a readable package.json, there are no platform packages.
    return [];
  }
}

const PACKAGE_NAME = /^(?:@[\w.-]+\/)?[\w-][\w.-]*$/;

function resolved(dependency: string, from: string): string | undefined {
  for (let folder = from; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const place = path.join(folder, 'node_modules', dependency);
    if (existsSync(place)) return realpathSync(place);
  }
  return undefined;
}

function placesIn(folder: string, name: string): string[] {
  const vendor = path.join(folder, 'vendor');
  const targets = existsSync(vendor) ? readdirSync(vendor).filter(target => TARGET.test(target)) : [];
  return [
    path.join(folder, name),
    ...targets.flatMap(target => [path.join(vendor, target, 'bin', name), path.join(vendor, target, name, name)]),
  ];
}

const TARGET = new RegExp(`^${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-.*linux`);
