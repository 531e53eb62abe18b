import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { refuseWaiting } from '../../serve/orders/waiting-order.ts';
import { cancelRun } from '../../verbs/cancel-run.ts';
import { listedNow, runFolderOf } from '../../verbs/runs.ts';
import { stderr, stdout } from '../text/out.ts';

export async function cancelCommand(word: string, { json }: { readonly json?: true }): Promise<number> {
  const place = startedRun(word);
  const became = await cancelRun(place);
  const { run, life } = await listedNow(place);
  if (became === 'ended' && life === 'dead') refuseWaiting(process.cwd(), place);
  const { resume } = run;
  if (json) stdout.write(`${printableJson({ run_id: place.id, state: became, resume: resume ?? null })}\n`);
  else {
    const next = resume === undefined ? '' : ` Resume it with \`${printable(resume)}\`.`;
    const said = became === 'cancelled' ? 'is cancelled.' : 'had already ended.';
    stderr.write(`${printable(place.id)} ${said}${next}\n`);
  }
  return became === 'cancelled' ? 0 : 1;
}

/** The run of that name. An order has none before it starts. */
function startedRun(word: string): ReturnType<typeof runFolderOf> {
  try {
    return runFolderOf(process.cwd(), word);
  } catch (error) {
    if (error instanceof Fault && error.code === 'no_run') refuseWaiting(process.cwd(), { id: word });
    throw error;
  }
}
