import { closeSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { syncFolder, writeAtomic } from '../../base/atomic.ts';
import { codeOf, Fault, fullDisk } from '../../base/fault.ts';
import { OWN_FOLDER } from '../../base/private.ts';
import { formOf } from '../../contracts/form.ts';
import { anyObject, count, instant, record } from '../../contracts/shape.ts';
import { chainedLines, JournalChain } from '../../evidence/run-folder/chain.ts';
import { Journal, JOURNAL, openJournal, parsedLine } from '../../evidence/run-folder/journal.ts';

const orderedLine = record({
  is: z.literal('ordered'),
  at: instant(),
  kind: z.enum(['suite', 'intent']),
  /** The identity that ordered it. Evidence never contains it. */
  by: z.string(),
  /** The key with which a client repeats its order; null without one. */
  key: z.nullable(z.string()),
  /** The hash of the whole order. */
  digest: z.nullable(z.string()),
  input: anyObject(),
});

const owner = record({ pid: count(), startTicks: count(), bootId: z.string() });

const lineShape = z.union([
  orderedLine,
  /** The run folder is complete. */
  record({ is: z.literal('laid') }),
  record({ is: z.literal('begun'), at: instant() }),
  /** The process that runs it. */
  record({ is: z.literal('started'), owner }),
  record({
    is: z.literal('ended'),
    at: instant(),
    how: z.enum(['finished', 'cancelled', 'failed', 'recovered']),
    message: z.nullable(z.string()),
  }),
  /** It waits again, because a client resumes its run. */
  record({ is: z.literal('again'), at: instant(), by: z.string() }),
]);

export type OrderedLine = z.infer<typeof orderedLine>;
export type OrderLine = z.infer<typeof lineShape>;
export type EndedLine = Extract<OrderLine, { is: 'ended' }>;
export type OrderOwner = z.infer<typeof owner>;

/** An order as its journal proves it. */
export interface StoredOrder {
  readonly ordered: OrderedLine;
  /** When it began to wait. */
  readonly waitsSince: string;
  readonly isLaid: boolean;
  /** How often it began since it waits. */
  readonly begins: number;
  readonly owner: OrderOwner | undefined;
  readonly ended: EndedLine | undefined;
}

/**
 * Stores a new order. Its files come first and the line `ordered` last, so a folder without that line is no order yet.
 */
export function createOrder(
  folder: string,
  files: readonly { readonly name: string; readonly bytes: Uint8Array }[],
  ordered: OrderedLine,
): void {
  try {
    mkdirSync(folder, { mode: OWN_FOLDER });
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST')
      throw new Fault('run_exists', 'Another order has this run id or key. Use another one.', { cause });
    throw new Fault('order_failed', `The order could not be stored${fullDisk(cause)}.`, { cause });
  }
  try {
    mkdirSync(filesOf(folder), { mode: OWN_FOLDER });
    for (const { name, bytes } of files) writeAtomic(path.join(filesOf(folder), name), bytes);
    const journal = Journal.open<OrderLine>(folder);
    try {
      journal.append(ordered);
      journal.sync();
    } finally {
      journal.close();
    }
    syncFolder(folder);
    syncFolder(path.dirname(folder));
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true });
    if (cause instanceof Fault) throw cause;
    throw new Fault('order_failed', `The order could not be stored${fullDisk(cause)}.`, { cause });
  }
}

/** The uploaded files of an order. */
export function filesOf(folder: string): string {
  return path.join(folder, 'files');
}

/** Adds a line to an order. The line survives a power cut. */
export function noteOrder(folder: string, line: OrderLine): void {
  const chain = JournalChain.read(folder);
  const { bytes } = provenLines(folder, chain);
  if (!chain || bytes === 0) throw new Fault('foreign_order', 'This server did not store the order.');
  const journal = Journal.reopen<OrderLine>(folder, bytes, chain);
  try {
    journal.append(line);
    journal.sync();
  } finally {
    journal.close();
  }
}

/** `unstored`: its line `ordered` was never written. `foreign`: this user's Proctor did not write it here. */
export function readOrder(folder: string): StoredOrder | 'unstored' | 'foreign' {
  // Throws if the disk fails: an unreadable journal must not count as a missing one.
  if (!lstatSync(path.join(folder, JOURNAL), { throwIfNoEntry: false })) return 'unstored';
  let read: ReturnType<typeof provenLines>;
  try {
    read = provenLines(folder, JournalChain.read(folder));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return 'foreign';
  }
  const [ordered] = read.lines;
  if (ordered?.is !== 'ordered') return read.hasLine ? 'foreign' : 'unstored';
  const last = read.lines.findLastIndex(({ is }) => is === 'again');
  const again = read.lines[last];
  const since = read.lines.slice(last + 1);
  return {
    ordered,
    waitsSince: again?.is === 'again' ? again.at : ordered.at,
    isLaid: last >= 0 || since.some(({ is }) => is === 'laid'),
    begins: since.filter(({ is }) => is === 'begun').length,
    owner: since.findLast(line => line.is === 'started')?.owner,
    ended: since.find(line => line.is === 'ended'),
  };
}

/** The names of all folders of orders. */
export function orderNames(root: string): string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

function provenLines(folder: string, chain: JournalChain | undefined) {
  const fd = openJournal(folder);
  try {
    const lines: OrderLine[] = [];
    let bytes = 0;
    let hasLine = false;
    for (const { text, isOurs, end } of chainedLines(fd, chain, LINE_BYTES_MAX)) {
      hasLine = true;
      const value = parsedLine(text);
      if (!isOurs || !formOf(lineShape).fits(value)) break;
      lines.push(value as OrderLine);
      bytes = end;
    }
    return { lines, bytes, hasLine };
  } finally {
    closeSync(fd);
  }
}

const LINE_BYTES_MAX = 4 * 1024 ** 2;
