import type { Job } from '../job.ts';

/** A file of /etc inside, which bubblewrap copies from a descriptor: neither a mount nor a file of the stage is needed. */
export interface EtcFile {
  readonly name: string;
  readonly fd: number;
  readonly text: string;
}

/** Files that programs look for in /etc, written for the sandbox: its user exists nowhere on this machine. */
const FILES: readonly EtcFile[] = [
  { name: 'passwd', fd: 5, text: 'sandbox:x:1000:1000:sandbox:/tmp:/bin/sh\n' },
  { name: 'group', fd: 6, text: 'sandbox:x:1000:\n' },
  { name: 'hosts', fd: 8, text: '127.0.0.1 localhost sandbox\n::1 localhost\n' },
  // Without a network there is no answer, and some libraries wait five seconds for one: Codex at the end of every run. The
  // server is at an address that nobody has: without one, libraries ask their own loopback, which the kernel counts as no reach.
  { name: 'resolv.conf', fd: 9, text: 'nameserver 192.0.2.1\noptions timeout:0 attempts:1\n' },
];

/** Where names can be looked up, the machine's own file says by whom. */
export function etcFor({ network }: Job): readonly EtcFile[] {
  return FILES.filter(({ name }) => network === 'blocked' || !NAMES_OF_HOSTS.includes(`/etc/${name}`));
}

/** The documents for the shell that starts bubblewrap: a redirection for each, and what follows the command. */
export function documentsOf(files: readonly EtcFile[]): { readonly redirections: string; readonly documents: string } {
  return {
    redirections: files.map(({ fd }) => `${fd}<<'${END}'`).join(' '),
    documents: files.map(({ text }) => `${text}${END}\n`).join(''),
  };
}

const END = 'END-OF-FILE';

/** What a program needs to look up names where the network is open. */
export const NAMES_OF_HOSTS: readonly string[] = [
  '/etc/resolv.conf',
  '/etc/nsswitch.conf',
  '/etc/ssl',
  '/etc/ca-certificates',
  '/usr/share/ca-certificates',
];
