import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Job } from '../job/job.ts';
import { closureOf, findProgram, shebangOf, isExecutable, isVisible } from '../host/programs.ts';
import { runtimesOf } from './runtimes.ts';

/** Why a program would not start in the sandbox, as a shell's exit code. Bubblewrap does not report the reason. */
export function whyNotStartable(job: Job, argv: readonly string[]): 126 | 127 | undefined {
  const words = [...argv, ...Object.entries(job.env).map(([name, value]) => `${name}=${value}`)];
  if (words.some(word => Buffer.byteLength(word) >= WORD_BYTES_MAX)) return 126;
  return whyNot(argv[0] ?? '', job, INTERPRETERS_MAX);
}

/** The kernel's limit for one argument or variable, including the zero byte. */
const WORD_BYTES_MAX = 128 * 1024;

/** How many scripts the kernel follows if each has another script as its interpreter. */
const INTERPRETERS_MAX = 5;

function whyNot(program: string, job: Job, depth: number): 126 | 127 | undefined {
  const file = program.includes('/') ? outside(path.posix.resolve('/work', program), job) : bare(program, job);
  if (file === undefined || !existsSync(file)) return 127;
  if (!isExecutable(file) || depth === 0) return 126;
  const interpreter = shebangOf(file);
  return interpreter === undefined || whyNot(interpreter, job, depth - 1) === undefined ? undefined : 127;
}

function bare(name: string, { programs }: Job): string | undefined {
  return programs && !programs.includes(name) ? undefined : findProgram(name);
}

/** The path on this machine of a file inside the sandbox; undefined if there can be none. */
function outside(file: string, job: Job): string | undefined {
  const { stage, programs, writeRoots, mounts = [] } = job;
  for (const [place, folder] of STAGED) {
    const staged = path.join(stage, folder, file.slice(place.length));
    if (file.startsWith(place) && (folder !== 'roots' || (writeRoots && existsSync(staged)))) return staged;
  }
  for (const { source, target } of mounts) {
    if (`${file}/`.startsWith(`${target}/`)) return path.join(source, file.slice(target.length));
  }
  if (runtimesOf(job).some(place => `${file}/`.startsWith(`${place}/`))) return file;
  if (!programs) return isVisible(file) ? file : undefined;
  const { files, links } = closureOf(programs);
  const isThere = links.some(({ link }) => link === file) || files.some(one => `${file}/`.startsWith(`${one}/`));
  return isThere ? file : undefined;
}

const STAGED = [
  ['/work/', 'roots'],
  ['/work/', 'work'],
  ['/opt/proctor/', 'opt'],
] as const;
