import { Fault } from '../../base/fault.ts';
import { unsafePath } from '../../base/path.ts';
import { printable } from '../../base/printable.ts';
import type { CheckOrder } from '../../contracts/checks/check-order.ts';
import { type Effective, effectiveLimits, type Offer } from '../../policy/effective-limits.ts';
import { type Overlay, readOverlay } from './overlay.ts';

/** A check that this machine can run, with its hidden files in memory. */
export interface ReadyCheck {
  readonly name: string;
  readonly command: string;
  readonly effective: Effective;
  readonly overlay: Overlay | undefined;
  readonly paths: readonly string[] | undefined;
  readonly report: string | undefined;
  readonly keep: readonly string[] | undefined;
}

/** Checks everything before the agent starts, and reads the hidden files. `cwd` is where relative overlays start. */
export function readyChecks(orders: readonly CheckOrder[], cwd: string, offers: readonly Offer[]): ReadyCheck[] {
  if (orders.length > CHECKS_MAX) throw new Fault('usage', `A run has at most ${CHECKS_MAX} checks.`);
  const names = new Set<string>();
  return orders.map((order, index) => {
    const { name = `check-${index + 1}`, command, timeoutMs = TIMEOUT_MS, memoryBytes = MEMORY_BYTES } = order;
    if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,39}$/.test(name))
      throw new Fault('usage', 'The name of a check has 1 to 40 lower-case letters, digits and dashes.');
    if (names.has(name)) throw new Fault('usage', `Two checks are named ${name}. Give each its own name.`);
    names.add(name);
    checkCommand(name, command);
    const { paths = [], keep = [], report } = order;
    for (const at of [...paths, ...keep, ...(report === undefined ? [] : [report])]) checkPath(name, at);
    const { pids = PIDS } = order;
    return {
      name,
      command,
      effective: effectiveLimits({ sandbox: 'process', timeoutMs, memoryBytes, pids }, offers),
      overlay:
        order.overlay === undefined ? undefined : readOverlay(order.overlay, cwd, `The overlay of the check ${name}`),
      paths: order.paths,
      report,
      keep: order.keep,
    };
  });
}

const CHECKS_MAX = 20;
const TIMEOUT_MS = 300_000;
const MEMORY_BYTES = 2 * 1024 ** 3;
const PIDS = 512;

function checkCommand(name: string, command: unknown): void {
  if (typeof command !== 'string' || command.trim() === '')
    throw new Fault('usage', `The check ${name} has no command. Use --check "npm test" or --check ${name}="npm test".`);
  if (Buffer.byteLength(command) > COMMAND_BYTES_MAX || /\0|\p{Cs}/u.test(command))
    throw new Fault('usage', `The command of the check ${name} is longer than 16 KiB or is not valid text.`);
}

const COMMAND_BYTES_MAX = 16 * 1024;

function checkPath(name: string, at: unknown): void {
  if (typeof at !== 'string') throw new Fault('usage', `The check ${name} has a path that is not a string.`);
  const trouble = unsafePath(at);
  if (trouble)
    throw new Fault(
      'usage',
      `The check ${name} names "${printable(at)}", which is not a path below the folder: it ${trouble}.`,
    );
}
