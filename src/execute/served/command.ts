import { statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { isExecutable } from '../host/programs.ts';
import type { KeptOrder } from './keeper-messages.ts';

/** A program with its arguments. No shell reads them. */
export interface DeclaredCommand {
  readonly run: readonly string[];
  /** Relative to the current folder, which is also the default. */
  readonly cwd?: string;
  /** Added to the environment of the user. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What Proctor supplies to a declared command. */
export interface CommandContext {
  /** The environment of the user. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Masked in all output. */
  readonly secrets: readonly string[];
  /** Leaves well-known credential formats unmasked. */
  readonly keepCredentials?: boolean;
  readonly signal?: AbortSignal;
}

/** Resolves folder and environment. Throws a Fault if the program or the folder does not exist. */
export function commandOrder(
  { run, cwd = '.', env = {} }: DeclaredCommand,
  { environment, secrets, keepCredentials = false }: CommandContext,
): Pick<KeptOrder, 'run' | 'cwd' | 'env' | 'secrets' | 'keepCredentials'> {
  const folder = path.resolve(cwd);
  const all = { ...environment, ...env };
  const known = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const reason = whyNotStartable(run[0] ?? '', folder, all['PATH'] ?? '');
  if (reason !== undefined) throw new Fault('agent_not_ready', reason);
  return { run, cwd: folder, env: Object.fromEntries(known), secrets, keepCredentials };
}

function whyNotStartable(program: string, folder: string, search: string): string | undefined {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    return 'The program cannot start: its folder (`cwd`) does not exist.';
  }
  const name = JSON.stringify(path.basename(program));
  if (program.includes('/')) {
    return isExecutable(path.resolve(folder, program))
      ? undefined
      : `The program ${name} does not exist or is not executable.`;
  }
  const isFound = program !== '' && search.split(':').some(part => isExecutable(path.resolve(folder, part, program)));
  return isFound ? undefined : `The program ${name} was not found in PATH.`;
}
