import { Fault } from '../../base/fault.ts';
import { type Effective, effectiveLimits, type Offer } from '../../policy/effective-limits.ts';

/** A command that prepares the tree before an agent starts, such as `npm ci`. */
export interface SetupOrder {
  readonly command: string;
  /** Default: 10 minutes. */
  readonly timeoutMs?: number;
  /** Default: 2 GiB. */
  readonly memoryBytes?: number;
}

/** A setup that this machine can run. */
export interface ReadySetup {
  readonly command: string;
  readonly effective: Effective;
}

/** Checks the setup before anything is created. It gets a network only if the agent's policy opens one. */
export function readySetup(
  order: SetupOrder | undefined,
  network: Effective['network'],
  offers: readonly Offer[],
): ReadySetup | undefined {
  if (order === undefined) return undefined;
  const { command, timeoutMs = TIMEOUT_MS, memoryBytes = MEMORY_BYTES } = order;
  if (typeof command !== 'string' || command.trim() === '')
    throw new Fault('usage', 'The setup has no command. Use --setup "npm ci".');
  if (Buffer.byteLength(command) > COMMAND_BYTES_MAX || /\0|\p{Cs}/u.test(command))
    throw new Fault('usage', 'The setup command is longer than 16 KiB or is not valid text.');
  const effective = effectiveLimits({ sandbox: 'process', timeoutMs, memoryBytes, pids: PIDS }, offers);
  return { command, effective: { ...effective, network } };
}

const TIMEOUT_MS = 600_000;
const MEMORY_BYTES = 2 * 1024 ** 3;
const PIDS = 512;
const COMMAND_BYTES_MAX = 16 * 1024;
