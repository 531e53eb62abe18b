import { statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { kilobytesIn, procText } from './proc-files.ts';

/**
 * The memory of processes and file systems together. The cheap sum counts shared pages several times. Only if it
 * exceeds the limit does Proctor request proportional shares, for which the kernel walks all pages.
 */
export function memoryOf(proc: string, pids: readonly number[], besides: number, limitBytes: number): number {
  const cheap = besides + sum(pids, pid => kilobytesIn(read(proc, pid, 'status'), CHEAP));
  if (cheap <= limitBytes) return cheap;
  const shared = besides + sum(pids, pid => privateOf(proc, pid) + kilobytesIn(read(proc, pid, ROLLUP), ['Pss_Shmem']));
  if (shared <= limitBytes) return shared;
  // Mapped files of a tmpfs are already counted with that file system.
  return besides + sum(pids, pid => privateOf(proc, pid) + unnamedOf(read(proc, pid, 'smaps')));
}

/** Bytes in use on tmpfs file systems. Two paths may be on the same one. */
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

const TMPFS = 0x01_02_19_94;

/** VmPTE: page tables can be as large as the memory they map. */
const CHEAP = ['RssAnon', 'RssShmem', 'VmSwap', 'VmPTE'];

const ROLLUP = 'smaps_rollup';

function privateOf(proc: string, pid: number): number {
  return (
    kilobytesIn(read(proc, pid, ROLLUP), ['Pss_Anon', 'SwapPss']) + kilobytesIn(read(proc, pid, 'status'), ['VmPTE'])
  );
}

/** Shared memory outside any file system: anonymous shared mappings, System V and memfd. */
function unnamedOf(smaps: string): number {
  const mappings = smaps.split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/);
  return sum(mappings, mapping => (UNNAMED.test(mapping) ? kilobytesIn(mapping, ['Pss']) : 0));
}

const UNNAMED = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ +(?:\/dev\/zero \(deleted\)|\/SYSV|\/memfd:|\[anon_shmem:)/;

function read(proc: string, pid: number, file: string): string {
  return procText(path.join(proc, String(pid), file)) ?? '';
}

function sum<Item>(items: readonly Item[], bytesOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + bytesOf(item), 0);
}
