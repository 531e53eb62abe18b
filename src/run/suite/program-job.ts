import { copyFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { AGENT_PATH } from '../../execute/agents/agent-program.ts';
import { builtProgram } from '../../execute/host/package-files.ts';
import { findProgram, isExecutable, isProgram, isVisible } from '../../execute/host/programs.ts';
import type { Job, Mount } from '../../execute/job/job.ts';
import { reachable } from '../../execute/sandboxes/mounts.ts';
import { commandOrder } from '../../execute/served/command.ts';
import type { Effective } from '../../policy/effective-limits.ts';
import { DEFAULT_CAPS, ends } from '../../policy/caps.ts';
import type { FilledProgram, ProgramDeclaration } from '../../targets/program-call.ts';
import { limitsOf, LOCALE } from '../pipeline/runner-plan.ts';

/** A program that answers cases, and how it runs. */
export interface DeclaredProgram {
  readonly declaration: ProgramDeclaration;
  /** The folder of the target file. The sandbox shows it read-only. */
  readonly dir: string;
  readonly effective: Effective;
  /** Folders of Proctor, with keys and evidence. The sandbox shows them empty. */
  readonly hidden: readonly string[];
  /** The environment of the user, for a program without a sandbox. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly secrets: readonly string[];
  readonly keepCredentials: boolean;
  readonly bodyBytesMax: number;
}

/** Paths as the program sees them. */
interface Inside {
  readonly dir: string;
  readonly work: string;
  readonly opt: string;
}

const SANDBOXED: Inside = { dir: '/agent/target', work: '/work', opt: '/opt/proctor' };

function insideOf({ effective, dir }: Pick<DeclaredProgram, 'effective' | 'dir'>, stage: string): Inside {
  if (effective.sandbox !== 'none') return SANDBOXED;
  return { dir: path.resolve(dir), work: path.join(stage, 'work'), opt: path.join(stage, 'opt') };
}

/** The file in which the reply is expected; undefined for standard output. */
export function replyFileOf(declaration: ProgramDeclaration): string | undefined {
  return declaration.kind === 'function' ? 'reply.json' : declaration.output;
}

/** The path that the program writes its reply to. */
export function outputPath(program: DeclaredProgram, stage: string): string | undefined {
  const file = replyFileOf(program.declaration);
  return file && path.join(insideOf(program, stage).work, file);
}

/** The job of one attempt. Writes what the program reads into the stage. */
export async function programJob(
  id: string,
  program: DeclaredProgram,
  { words, env, input }: FilledProgram,
  stage: string,
): Promise<Job> {
  const { declaration, effective, keepCredentials, secrets } = program;
  const inside = insideOf(program, stage);
  const isBare = effective.sandbox === 'none';
  if (input !== undefined) writeFileSync(path.join(stage, STDIN), input);
  if (declaration.kind === 'function') copyFileSync(builtProgram(HARNESS), path.join(stage, 'opt', HARNESS));
  const argv =
    declaration.kind === 'function'
      ? harnessWords(words, inside)
      : [isBare ? (words[0] ?? '') : programInside(words[0] ?? ''), ...words.slice(1)];
  const mounts = isBare ? undefined : await reachable([targetMount(program)], stage);
  return {
    id,
    backend: effective.sandbox,
    argv,
    ...(!isBare && { runtimes: argv.slice(0, 1).filter(isOutside) }),
    env: { ...(isBare ? ownVariables(program) : SANDBOX_VARIABLES), TMPDIR: inside.work, ...env },
    stage,
    staged: [],
    startIn: inside.dir,
    ...(input !== undefined && { stdin: STDIN }),
    ...(mounts && { mounts }),
    network: effective.network,
    limits: { ...limitsOf(effective, DEFAULT_CAPS), keep: keptOf(program) },
    secrets,
    ...(keepCredentials && { keepCredentials: true as const }),
    live: false,
  };
}

function targetMount({ dir, hidden }: DeclaredProgram): Mount {
  const real = realpathSync(dir);
  const hides = hidden
    .filter(folder => statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    .map(folder => path.relative(real, realpathSync(folder)))
    .filter(below => below !== '' && !below.startsWith('..'));
  return { source: dir, target: SANDBOXED.dir, hides: [...new Set(hides)] };
}

const STDIN = 'stdin';
const HARNESS = 'function-harness.mjs';
const SANDBOX_VARIABLES = { PATH: AGENT_PATH, HOME: '/tmp', LANG: LOCALE, TZ: 'UTC' };

function ownVariables({ environment }: DeclaredProgram): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** A reply must be complete, so Proctor does not keep a separate tail. */
function keptOf({ declaration, bodyBytesMax }: DeclaredProgram): Job['limits']['keep'] {
  const isReply = replyFileOf(declaration) === undefined;
  return {
    stdout: isReply ? { headBytes: bodyBytesMax, tailBytes: 0 } : ends(LOG_BYTES_MAX),
    stderr: ends(LOG_BYTES_MAX),
  };
}

const LOG_BYTES_MAX = 64 * 1024;

function harnessWords([module = '', name = '']: readonly string[], inside: Inside): string[] {
  return [process.execPath, path.join(inside.opt, HARNESS), path.join(inside.dir, module), name, inside.work];
}

/** Whether the sandbox must show a program that is neither the machine's nor in the folder of the target file. */
function isOutside(program: string): boolean {
  return (
    path.isAbsolute(program) && !program.startsWith(`${SANDBOXED.dir}/`) && !isVisible(program) && isProgram(program)
  );
}

/** The path of a program inside the sandbox. Bare names are searched in PATH. */
function programInside(word: string): string {
  return word.includes('/') ? path.posix.resolve(SANDBOXED.dir, word) : word;
}

type CheckedProgram = Pick<DeclaredProgram, 'declaration' | 'dir' | 'effective' | 'environment'>;

/** Throws a Fault if the program or module does not exist where the declaration says. */
export function checkProgram({ declaration, dir, effective, environment }: CheckedProgram): void {
  if (declaration.kind === 'function') return checkModule(declaration.module, dir, effective.sandbox);
  const { run, env = {} } = declaration;
  if (effective.sandbox === 'none') {
    commandOrder({ run, cwd: dir, env }, { environment, secrets: [] });
    return;
  }
  const word = run[0] ?? '';
  const shown = printable(path.basename(word));
  const place = programInside(word);
  const outside = outsideOf(place, dir);
  if (outside === undefined && !word.includes('/') && !isOnPath(word, environment['PATH'] ?? ''))
    throw new Fault('no_program', `The program "${shown}" is not on the PATH. Install it, or write its path in run.`);
  if (outside === undefined)
    throw new Fault(
      'no_program',
      `The sandbox does not show the program "${shown}". Move it into the folder of the target file, or declare sandbox: none.`,
    );
  if (!isExecutable(outside))
    throw new Fault('no_program', `The program "${shown}" does not exist or is not executable.`);
}

function isOnPath(word: string, search: string): boolean {
  return search.split(':').some(folder => folder !== '' && isExecutable(path.join(folder, word)));
}

/** The path on this machine; undefined if the sandbox does not show it. */
function outsideOf(place: string, dir: string): string | undefined {
  if (!place.includes('/')) return findProgram(place);
  if (place.startsWith(`${SANDBOXED.dir}/`)) return path.join(dir, place.slice(SANDBOXED.dir.length));
  return isVisible(place) || isProgram(place) ? place : undefined;
}

function checkModule(module: string, dir: string, sandbox: Effective['sandbox']): void {
  const shown = printable(path.basename(module));
  const file = path.resolve(dir, module);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new Fault('no_program', `The module "${shown}" does not exist.`);
  if (sandbox !== 'none' && !realpathSync(file).startsWith(path.join(realpathSync(dir), '/')))
    throw new Fault(
      'no_program',
      `The sandbox shows only the folder of the target file, which does not contain "${shown}". Move the target file, or declare sandbox: none.`,
    );
}
