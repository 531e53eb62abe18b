import { printable, printableJson } from '../../base/printable.ts';
import type { AttemptsReport } from '../../contracts/attempts.ts';
import { applyRun } from '../../verbs/apply.ts';
import { stdout } from '../text/out.ts';
import { asFault } from './pack.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { countText } from '../text/units.ts';

interface ApplyFlags {
  readonly dir?: string;
  readonly branch?: string;
  readonly check?: true;
  readonly anyway?: true;
  readonly allowFailedChecks?: true;
  readonly allowActive?: readonly string[];
  readonly json?: true;
}

export async function applyCommand(run: string, { json, ...flags }: ApplyFlags): Promise<number> {
  return asFault(json, async signal => {
    const answer = await applyRun(run, { ...flags, cwd: process.cwd(), signal });
    const { runId, applied, changed, branch, needsReview, notes, fromClone, attempts } = answer;
    if (json) {
      stdout.write(
        `${printableJson({ ok: true, run_id: runId, applied, changed, branch, needs_review: needsReview, notes, ...(attempts && { attempts }) })}\n`,
      );
      return;
    }
    const paint = paintFor(1);
    if (attempts) stdout.write(chosenText(attempts, paint));
    if (changed.total === 0 && branch === null) {
      stdout.write(`${printable(runId)} changed nothing. There is nothing to apply.\n`);
      return;
    }
    const shown = changed.listed.slice(0, SHOWN_MAX);
    const more = changed.total - shown.length;
    stdout.write(
      [
        `${paint('good', '✓')} ${paint('strong', applied ? 'applied' : 'can be applied')}  ${printable(runId)}: ${branch ? `${countText(branch.commits, 'commit')} on the new branch ${printable(branch.name)}, ` : ''}${countText(changed.total, 'file')}`,
        ...shown.map(({ path, change }) => `  ${SIGNS[change]} ${printable(path)}`),
        ...(more > 0 ? [`  and ${more} more`] : []),
        ...needsReview.map(({ path, reason }) => `  ${paint('note', '!')} ${printable(path)}: ${printable(reason)}`),
        ...notes.map(note => `  ${paint('faint', printable(note))}`),
        ...(applied && branch
          ? [
              paint(
                'faint',
                `  Your work tree is unchanged. Review the commits with git log -p ${printable(branch.name)}.`,
              ),
            ]
          : []),
        ...(applied && fromClone && !branch
          ? [paint('faint', '  Nothing is committed. Review the changes with git status and git diff.')]
          : []),
        '',
      ].join('\n'),
    );
  });
}

/** Which attempt wins, and why. */
function chosenText({ winner, why, of, not_ranked, ties, notes }: AttemptsReport, paint: Paint): string {
  const tie = ties.find(numbers => numbers.includes(winner?.attempt ?? 0));
  const lines = [
    `${paint('strong', `attempt ${winner?.attempt} of ${of}`)}  ${printable(why)}`,
    ...not_ranked.map(({ attempt, message }) => `  attempt ${attempt} is not ranked: ${printable(message)}`),
    ...(tie ? [`  equal attempts: ${tie.join(', ')}`] : []),
    ...notes.map(note => `  ${printable(note)}`),
  ];
  return `${lines.join('\n')}\n`;
}

const SHOWN_MAX = 50;
const SIGNS = { add: 'A', update: 'M', delete: 'D' } as const;
