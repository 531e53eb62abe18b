import type { Job } from '../job.ts';
import { ETC_FD } from './descriptors.ts';

/** A file of /etc inside, which bubblewrap copies from a descriptor: neither a mount nor a file of the stage is needed. */
export interface EtcFile {
  readonly name: keyof typeof ETC_FD;
  readonly text: string;
}

/** Files that programs look for in /etc, written for the sandbox: its user exists nowhere on this machine. */
const FILES: readonly EtcFile[] = [
  { name: 'passwd', text: 'sandbox:x:1000:1000:sandbox:/tmp:/bin/sh\n' },
  { name: 'group', text: 'sandbox:x:1000:\n' },
  { name: 'hosts', text: '127.0.0.1 localhost sandbox\n::1 localhost\n' },
  // Without a network there is no answer, and some libraries wait five seconds for one: Codex at the end of every run. The
  // server is at an address that nobody has: without one, libraries ask their own loopback, which the kernel counts as no reach.
  { name: 'resolv.conf', text: 'nameserver 192.0.2.1\noptions timeout:0 attempts:1\n' },
];

/** Where names can be looked up, the machine's own file says by whom. */
export function etcFor({ network }: Job): readonly EtcFile[] {
  return FILES.filter(({ name }) => network === 'blocked' || !NAMES_OF_HOSTS.includes(`/etc/${name}`));
}

/** The documents for the shell that starts bubblewrap: a redirection for each, and what follows the command. */
export function documentsOf(files: readonly EtcFile[]): { readonly redirections: string; readonly documents: string } {
  return {
    redirections: files.map(({ name }) => `${ETC_FD[name]}<<'${END}'`).join(' '),
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
