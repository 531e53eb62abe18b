import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { Fault } from '../../base/fault.ts';
import { newToken } from '../../base/ids.ts';
import { shellQuoted } from '../../base/shell.ts';
import { signal } from '../host/processes.ts';
import { MACHINE_FOLDERS } from '../host/programs.ts';

/** How to run git. Its environment contains only the variables that are set here. */
export interface Asking {
  readonly gitDir?: string;
  readonly workTree?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Further settings, which override those in any file. */
  readonly settings?: readonly Setting[];
  /**
   * Applies the user's settings too, unless they run something. Otherwise only the settings of the git folder apply.
   */
  readonly asUser?: true;
  readonly input?: string | Uint8Array;
  readonly timeoutMs?: number;
  readonly bytesMax?: number;
}

export type Setting = readonly [key: string, value: string];

export interface GitResult {
  readonly code: number;
  readonly stdout: Buffer;
  /** The first 8,192 characters of its error output. */
  readonly stderr: string;
}

export async function askGit(args: readonly string[], asking: Asking = {}): Promise<GitResult> {
  const { input, bytesMax = BYTES_MAX } = asking;
  const child = startGit(args, asking);
  const output = collected(child, bytesMax, () => child.kill('SIGKILL'));
  // Git may exit before it has read all input.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const { code, stderr } = await ended(child);
  return { code, stdout: output(), stderr };
}

/**
 * Runs git, ignores its output, and writes the pieces to its input as fast as git reads them. If git exits early, takes
 * the remaining pieces without writing them, because the caller may hash them.
 */
export async function feedGit(
  args: readonly string[],
  asking: Omit<Asking, 'input' | 'bytesMax'>,
  pieces: Iterable<string | Uint8Array>,
): Promise<Pick<GitResult, 'code' | 'stderr'>> {
  const child = startGit(args, asking);
  const end = ended(child);
  const stdin = child.stdin as NonNullable<typeof child.stdin>;
  let isOver = false;
  const over = end.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  stdin.on('error', () => undefined);
  child.stdout?.resume();
  try {
    for (const piece of pieces)
      if (!isOver && !stdin.write(piece)) await Promise.race([once(stdin, 'drain').catch(() => undefined), over]);
  } finally {
    stdin.end();
  }
  return end;
}

/** Collects git's output, and kills git if there is too much. The returned function then throws. */
function collected(child: ChildProcess, bytesMax: number, kill: () => void): () => Buffer {
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bytesMax) kill();
    else chunks.push(chunk);
  });
  return () => {
    if (bytes > bytesMax) throw new Fault('git_failed', "Git's output is too large to read.");
    return Buffer.concat(chunks);
  };
}

/** Pauses a series before one command until `opened` resolves. If it rejects, that command and the rest do not run. */
export interface SeriesPause {
  readonly before: number;
  readonly opened: Promise<void>;
}

/** Runs several git commands in one shell, because starting a process takes longer than most commands. */
export async function askGits(
  questions: readonly (readonly string[])[],
  asking: Asking = {},
  gate?: SeriesPause,
): Promise<GitResult[]> {
  const { bytesMax = BYTES_MAX, timeoutMs = TIMEOUT_MS } = asking;
  // A random marker that no output contains.
  const mark = newToken();
  const steps = questions.map((args, index) =>
    [
      ...(index === gate?.before ? ['read -r go || exit 0'] : []),
      `git ${args.map(shellQuoted).join(' ')} </dev/null`,
      `code=$?; echo "${mark} $code"; [ $code != ${NOT_FOUND} ] || exit ${NOT_FOUND}`,
    ].join('\n'),
  );
  const child = startShell(`${MEMORY_BOUND}\n${steps.join('\n')}`, [], asking, true);
  const kill = (): void => void (child.pid !== undefined && signal(-child.pid, 'SIGKILL'));
  const timer = setTimeout(kill, timeoutMs);
  const output = collected(child, bytesMax, kill);
  child.stdin?.on('error', () => undefined);
  const opened = gate?.opened.then(
    () => void child.stdin?.end('go\n'),
    (error: unknown) => {
      child.stdin?.end();
      throw error;
    },
  );
  if (!opened) child.stdin?.end();
  try {
    // Waits for both, so that git has ended and writes nothing after this returns.
    const [end, open] = await Promise.allSettled([ended(child), opened]);
    if (open.status === 'rejected') throw open.reason;
    if (end.status === 'rejected') throw end.reason;
    return answersIn(output(), mark, { ...end.value, count: questions.length });
  } finally {
    clearTimeout(timer);
  }
}

/** Splits the output at the markers. Commands that did not run get the shell's exit code. */
function answersIn(
  said: Buffer,
  mark: string,
  { code, stderr, count }: { code: number; stderr: string; count: number },
): GitResult[] {
  const answers: GitResult[] = [];
  for (let from = 0, at = said.indexOf(mark); at !== -1; at = said.indexOf(mark, from)) {
    const end = said.indexOf('\n', at);
    answers.push({
      code: Number(said.toString('latin1', at + mark.length, end)),
      stdout: said.subarray(from, at),
      stderr,
    });
    from = end + 1;
  }
  while (answers.length < count) answers.push({ code: code || KILLED, stdout: Buffer.alloc(0), stderr });
  return answers;
}

/** Runs git and throws a Fault if it fails. */
export async function git(args: readonly string[], asking: Asking = {}): Promise<Buffer> {
  const { code, stdout, stderr } = await askGit(args, asking);
  if (code !== 0) throw gitFailed(args, stderr);
  return stdout;
}

export function gitFailed(args: readonly string[], stderr: string): Fault {
  return new Fault('git_failed', 'Git failed.', { cause: `git ${args[0]}: ${stderr}` });
}

/**
 * Starts git so that a repository cannot make it run programs, ask questions or use more than 4 GiB of memory. A shell
 * sets the memory limit, because Node cannot.
 */
export function startGit(args: readonly string[], asking: Asking): ChildProcess {
  return startShell(`${MEMORY_BOUND}; exec git "$@"`, args, asking, false);
}

/** `isGroup`: starts a new process group, so that the caller can kill all its processes. */
function startShell(script: string, args: readonly string[], asking: Asking, isGroup: boolean): ChildProcess {
  const { gitDir, workTree, cwd = '/', settings = [], asUser, timeoutMs = TIMEOUT_MS } = asking;
  const all = [...SAFE, ...(asUser ? [] : RAW), ...settings];
  return spawn('/bin/sh', ['-c', script, 'git', ...args], {
    cwd,
    detached: isGroup,
    env: {
      ...ENV,
      // Passed as variables, because a key in an argument must not contain an equals sign.
      GIT_CONFIG_COUNT: String(all.length),
      ...Object.fromEntries(
        all.flatMap(([key, value], index) => [
          [`GIT_CONFIG_KEY_${index}`, key],
          [`GIT_CONFIG_VALUE_${index}`, value],
        ]),
      ),
      ...(asUser ? { HOME: homedir() } : { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }),
      ...(gitDir !== undefined && { GIT_DIR: gitDir }),
      ...(workTree !== undefined && { GIT_WORK_TREE: workTree }),
      ...asking.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
}

export async function ended(child: ChildProcess): Promise<{ code: number; stderr: string }> {
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < STDERR_CHARS_MAX) stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', cause => reject(new Fault('git_failed', 'Git could not be started.', { cause })));
    child.once('close', (code, signal) => {
      if (code === NOT_FOUND) reject(new Fault('git_missing', 'Git is not installed on this machine.'));
      else resolve({ code: code ?? KILLED, stderr: signal === null ? stderr : `${signal} ${stderr}` });
    });
  });
}

const NOT_FOUND = 127;
const KILLED = 137;

/** Ignored on systems that do not support it. */
const MEMORY_BOUND = `ulimit -v ${4 * 1024 * 1024} 2>/dev/null`;

const SAFE: readonly Setting[] = [
  // If Proctor runs as root, the user's repository and the run's stage belong to other users.
  ['safe.directory', '*'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.pager', 'cat'],
  ['core.untrackedCache', 'false'],
  // Also prevents lazy fetches in a partial clone.
  ['protocol.allow', 'never'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
];

/** Treats files as bytes: no line ending conversion, no attributes and no ignore files from elsewhere. */
const RAW: readonly Setting[] = [
  ['core.autocrlf', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.packedGitWindowSize', '32m'],
  ['core.packedGitLimit', '256m'],
];

const ENV = {
  PATH: MACHINE_FOLDERS.join(':'),
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_AUTHOR_NAME: 'proctor-agent',
  GIT_AUTHOR_EMAIL: 'agent@proctor.invalid',
  GIT_COMMITTER_NAME: 'proctor-agent',
  GIT_COMMITTER_EMAIL: 'agent@proctor.invalid',
};

const TIMEOUT_MS = 120_000;
const BYTES_MAX = 256 * 1024 * 1024;
const STDERR_CHARS_MAX = 8_192;
