import { printable } from '../../base/printable.ts';
import { shellQuoted } from '../../base/shell.ts';
import type { Comparison } from '../../contracts/comparison/index.ts';

/** The command to run after a comparison, as its last lines. Empty if the verdict itself says what to do. */
export function nextText(
  { verdict, sides, decision, again, cases }: Comparison,
  {
    baseline,
    candidate,
    againFlags,
  }: { readonly baseline: string; readonly candidate: string; readonly againFlags: string },
): string {
  if (sides.baseline.trials === 0) return MAKE_ONE;
  if (!again && decision?.cause === 'suspect')
    return next('to run the suspect cases again', ['compare', baseline, candidate], ` --again${againFlags}`);
  if (verdict === 'no_regression')
    return next('to make the candidate the accepted baseline', ['baseline', 'accept', candidate]);
  if (verdict !== 'regression') return '';
  const broken = decision?.broken[0]?.case_id;
  const one = cases.find(({ case_id }) => case_id === broken) ?? cases.find(({ change }) => change === 'regressed');
  const run = one?.new.trials.at(-1)?.run_id;
  return one && run !== undefined ? next('to send a broken case again', ['resend', run, one.case_id]) : '';
}

function next(why: string, words: readonly string[], flags = ''): string {
  return `  next    proctor ${words.map(word => printable(shellQuoted(word))).join(' ')}${flags}  ${why}\n`;
}

const MAKE_ONE = `
  To create a baseline, run a version that works, and accept the run if you want to commit it:
    proctor run suite CASES --target FILE --as baseline
    proctor baseline accept baseline
`;
