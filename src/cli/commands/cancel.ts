import { printable, printableJson } from '../../base/printable.ts';
import { cancelRun } from '../../verbs/cancel-run.ts';
import { listedNow, runFolderOf } from '../../verbs/runs.ts';
import { stderr, stdout } from '../text/out.ts';

export async function cancelCommand(word: string, { json }: { readonly json?: true }): Promise<number> {
  const place = runFolderOf(process.cwd(), word);
  const became = await cancelRun(place);
  const { resume } = (await listedNow(place)).run;
  if (json) stdout.write(`${printableJson({ run_id: place.id, state: became, resume: resume ?? null })}\n`);
  else {
    const next = resume === undefined ? '' : ` Resume it with \`${printable(resume)}\`.`;
    const said = became === 'cancelled' ? 'is cancelled.' : 'had already ended.';
    stderr.write(`${printable(place.id)} ${said}${next}\n`);
  }
  return became === 'cancelled' ? 0 : 1;
}
