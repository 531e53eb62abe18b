import type { Job } from '../job/job.ts';
import { ETC_FD } from './descriptors.ts';

/** A file in /etc that bubblewrap copies from a descriptor, which needs neither a mount nor a file in the stage. */
export interface EtcFile {
  readonly name: keyof typeof ETC_FD;
  readonly text: string;
}

/** Files that programs expect in /etc. They describe the sandbox's user, who does not exist on this machine. */
const FILES: readonly EtcFile[] = [
  { name: 'passwd', text: 'sandbox:x:1000:1000:sandbox:/tmp:/bin/sh\n' },
  { name: 'group', text: 'sandbox:x:1000:\n' },
  { name: 'hosts', text: '127.0.0.1 localhost sandbox\n::1 localhost\n' },
  // Without a network there is no answer, and some libraries wait five seconds for one (Codex does, at the end of every
  // run). The address is reserved and unused: without one, libraries query their own loopback, which the kernel does
  // not count as an attempt.
  { name: 'resolv.conf', text: 'nameserver 192.0.2.1\noptions timeout:0 attempts:1\n' },
];

/** With an open network, the machine's own files apply. */
export function etcFor({ network }: Job): readonly EtcFile[] {
  return FILES.filter(({ name }) => network === 'blocked' || !NAMES_OF_HOSTS.includes(`/etc/${name}`));
}

/** Here-documents for the shell that starts bubblewrap: the redirections, and the text after the command. */
export function hereDocuments(files: readonly EtcFile[]): {
  readonly redirections: string;
  readonly documents: string;
} {
  return {
    redirections: files.map(({ name }) => `${ETC_FD[name]}<<'${END}'`).join(' '),
    documents: files.map(({ text }) => `${text}${END}\n`).join(''),
  };
}

const END = 'END-OF-FILE';

/** What a program needs to resolve names in an open network. */
export const NAMES_OF_HOSTS: readonly string[] = [
  '/etc/resolv.conf',
  '/etc/nsswitch.conf',
  '/etc/ssl',
  '/etc/ca-certificates',
  '/usr/share/ca-certificates',
];
