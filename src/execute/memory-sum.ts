import { statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { kilobytesIn, textOf } from './proc-files.ts';

/**
 * The memory of some processes and file systems together. The cheap sum counts pages twice that processes share. Only if
 * that sum is too much does it ask the kernel to divide them, which takes a walk over all pages.
 */
export function memoryOf(proc: string, pids: readonly number[], besides: number, limitBytes: number): number {
  const cheap = besides + sum(pids, pid => kilobytesIn(read(proc, pid, 'status'), CHEAP));
  if (cheap <= limitBytes) return cheap;
  const shared = besides + sum(pids, pid => privateOf(proc, pid) + kilobytesIn(read(proc, pid, ROLLUP), ['Pss_Shmem']));
  if (shared <= limitBytes) return shared;
  // A mapped file of a file system in memory is counted with that file system already.
  return besides + sum(pids, pid => privateOf(proc, pid) + unnamedOf(read(proc, pid, 'smaps')));
}

/** The bytes in use on file systems in memory. Two paths may lead to the same one. */
export function bytesOnTmpfs(folders: readonly string[]): number {
  const seen = new Set<number>();
  return sum(folders, folder => {
    try {
      const { dev } = statSync(folder);
      const { type, blocks, bfree, bsize } = statfsSync(folder);
      if (type !== TMPFS || seen.has(dev)) return 0;
      seen.add(dev);
      return (blocks - bfree) * bsize;
    } catch {
      return 0;
    }
  });
}

/** As the kernel numbers file systems. */
const TMPFS = 0x01_02_19_94;

/** VmPTE: the tables that map memory can be as large as what they map. */
const CHEAP = ['RssAnon', 'RssShmem', 'VmSwap', 'VmPTE'];

const ROLLUP = 'smaps_rollup';

function privateOf(proc: string, pid: number): number {
  return (
    kilobytesIn(read(proc, pid, ROLLUP), ['Pss_Anon', 'SwapPss']) + kilobytesIn(read(proc, pid, 'status'), ['VmPTE'])
  );
}

/** Shared memory that no file system shows: shared between a process and its children, or of System V. */
function unnamedOf(smaps: string): number {
  const mappings = smaps.split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/);
  return sum(mappings, mapping => (UNNAMED.test(mapping) ? kilobytesIn(mapping, ['Pss']) : 0));
}

const UNNAMED = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ +(?:\/dev\/zero \(deleted\)|\/SYSV|\/memfd:|\[anon_shmem:)/;

function read(proc: string, pid: number, file: string): string {
  return textOf(path.join(proc, String(pid), file)) ?? '';
}

function sum<Item>(items: readonly Item[], bytesOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + bytesOf(item), 0);
}
