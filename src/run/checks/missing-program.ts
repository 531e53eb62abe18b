import { Fault } from '../../base/fault.ts';
import { findProgram } from '../../execute/host/programs.ts';
import type { CheckOrder } from '../../contracts/checks/check-order.ts';

/**
 * Refuses a check whose command starts with a program that this machine does not have: it would fail every case, and the
 * agent would get the blame. Proctor looks up only a plain first word; the shell resolves everything else.
 */
export function refuseMissingProgram({ name, command }: CheckOrder): void {
  const word = /^\s*(?:[A-Za-z_]\w*=[\w./:-]*\s+)*([A-Za-z][\w.+-]*)(?=\s|$)/.exec(command)?.[1];
  if (word === undefined || OF_THE_SHELL.has(word) || findProgram(word) !== undefined) return;
  throw new Fault(
    'no_program',
    `The check ${name ?? ''} needs the program ${word}, which a sandbox cannot find on this machine. Install it, or name a program in the folder with its path.`.replace(
      'check  ',
      'check ',
    ),
  );
}

const OF_THE_SHELL: ReadonlySet<string> = new Set(
  'alias bg break case cd command continue do done elif else esac eval exec exit export fg fi for getopts hash if in jobs kill local read readonly return set shift test then times trap type ulimit umask unalias unset until wait while echo printf pwd true false function'.split(
    ' ',
  ),
);
