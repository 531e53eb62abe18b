import { closeSync, openSync, readSync } from 'node:fs';

/**
 * Counts the packets and connections for which a sandbox has no route. The kernel counts them per network namespace,
 * and the sandbox cannot reset the counter. An open counter file keeps the namespace alive, so Proctor can read it
 * after every process has ended.
 */
export class NetworkReach {
  #files: readonly CounterFile[] = [];
  /** Attempts by the job's earlier programs. */
  #before = 0;
  #isKnown = false;

  /** `init` is the pid of the first process in the network namespace, as seen from this machine. */
  open(init: number): void {
    const count = this.attempts();
    this.close();
    const files = FILES.map(({ name, pattern }) => ({ pattern, fd: opened(`/proc/${init}/net/${name}`) }));
    this.#before = count ?? 0;
    this.#isKnown = files[0]?.fd !== undefined;
    this.#files = files.flatMap(({ pattern, fd }) => (fd === undefined ? [] : [{ pattern, fd }]));
  }

  /** Undefined if the kernel does not report the counter. */
  attempts(): number | undefined {
    if (!this.#isKnown) return undefined;
    let count = this.#before;
    for (const file of this.#files) {
      const found = countIn(file);
      if (found === undefined) return undefined;
      count += found;
    }
    return count;
  }

  close(): void {
    for (const { fd } of this.#files) closeSync(fd);
    this.#files = [];
    this.#isKnown = false;
  }
}

interface CounterFile {
  readonly fd: number;
  readonly pattern: RegExp;
}

/** A machine without IPv6 has no second file. */
const FILES = [
  // One line has the names, the next the numbers.
  { name: 'snmp', pattern: /^Ip: (?<names>.*)\nIp: (?<numbers>.*)$/m },
  { name: 'snmp6', pattern: /^(?<names>Ip6OutNoRoutes)\s+(?<numbers>\d+)$/m },
] as const;

function opened(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch {
    return undefined;
  }
}

function countIn({ fd, pattern }: CounterFile): number | undefined {
  const bytes = Buffer.alloc(FILE_BYTES_MAX);
  try {
    const text = bytes.toString('latin1', 0, readSync(fd, bytes, 0, bytes.length, 0));
    const { names = '', numbers = '' } = pattern.exec(text)?.groups ?? {};
    const at = names.split(' ').findIndex(name => name.endsWith('OutNoRoutes'));
    const count = Number(numbers.split(' ')[at] ?? Number.NaN);
    return Number.isSafeInteger(count) ? count : undefined;
  } catch {
    return undefined;
  }
}

/** Several times the size of these files. */
const FILE_BYTES_MAX = 64 * 1024;
