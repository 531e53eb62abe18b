import { spawn } from 'node:child_process';
import { PATH_FOLDERS } from './programs.ts';

/** How a command of the operator ended, and the beginning of what it printed. */
export type CommandEnd = {
  readonly printed: string;
} & ({ readonly how: 'exited'; readonly code: number } | { readonly how: 'killed' | 'timed_out' | 'not_started' });

/** Runs a command that the operator wrote in the settings, outside of any sandbox, within a time. */
export async function runOperatorCommand(words: readonly string[], timeoutMs: number): Promise<CommandEnd> {
  const [program = '', ...args] = words;
  const env = { PATH: PATH_FOLDERS.join(':'), LANG: 'C.UTF-8' };
  // Its own process group, so that a time-out also ends what it started.
  const child = spawn(program, args, { cwd: '/', env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = Buffer.alloc(0);
  const take = (bytes: Buffer): void => {
    if (printed.length < PRINTED_BYTES_MAX)
      printed = Buffer.concat([printed, bytes.subarray(0, PRINTED_BYTES_MAX - printed.length)]);
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  let isLate = false;
  const stop = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group has ended.
    }
  };
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, timeoutMs);
  return new Promise(resolve => {
    child.once('error', () => {
      clearTimeout(timer);
      resolve({ how: 'not_started', printed: '' });
    });
    // Not `close`: a process that outlives the command may keep its streams open.
    child.once('exit', code => {
      clearTimeout(timer);
      stop();
      const text = printed.toString();
      if (isLate) resolve({ how: 'timed_out', printed: text });
      else resolve(code === null ? { how: 'killed', printed: text } : { how: 'exited', code, printed: text });
      child.stdout.destroy();
      child.stderr.destroy();
    });
  });
}

const PRINTED_BYTES_MAX = 4_096;
