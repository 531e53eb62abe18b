import { closeSync, openSync, readSync } from 'node:fs';

/**
 * Counts how often programs of a sandbox reached for the network, which has no route there. The kernel counts this for each
 * network namespace, and nothing inside can reset it. An open counter file keeps its namespace, so it can be read when
 * every process is dead.
 */
export class NetworkReach {
  #files: readonly CounterFile[] = [];
  /** Of programs before the one that runs now. */
  #before = 0;
  #isKnown = false;

  /** `init` is the first process of a network namespace of its own, as this machine numbers it. */
  open(init: number): void {
    const count = this.attempts();
    this.close();
    const files = FILES.map(({ name, pattern }) => ({ pattern, fd: opened(`/proc/${init}/net/${name}`) }));
    this.#before = count ?? 0;
    this.#isKnown = files[0]?.fd !== undefined;
    this.#files = files.flatMap(({ pattern, fd }) => (fd === undefined ? [] : [{ pattern, fd }]));
  }

  /** Packets and connections that found no route. Undefined where the kernel did not tell. */
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
  // The names stand in one line, the numbers in the next.
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

/** Several times what the kernel writes. */
const FILE_BYTES_MAX = 64 * 1024;
