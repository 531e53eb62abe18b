import { printable, printableJson } from '../../base/printable.ts';
import type { RunEvent } from '../../contracts/run-events.ts';
import { checkerIfUsable } from '../../verbs/keys.ts';
import { listedNow, runFolderOf } from '../../verbs/runs.ts';
import { suiteProgressIn, watchRun } from '../../verbs/watch-run.ts';
import { interruptions } from '../options/interruptions.ts';
import { namedKey } from '../options/variables.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { RunEventText } from '../text/run-event-text.ts';

/** Follows a run. Ctrl-C stops watching, and the run continues. */
export async function watchCommand(word: string, { json }: { readonly json?: true }): Promise<number> {
  const place = runFolderOf(process.cwd(), word);
  const key = checkerIfUsable(process.cwd(), namedKey().signingKey);
  const interrupt = interruptions();
  const text = json ? undefined : new RunEventText(place.id, suiteProgressIn(place), paintFor(2));
  const onEvent = (event: RunEvent): void => {
    if (text) text.show(event);
    else stdout.write(`${printableJson({ event: event.kind, id: event.id, data: event.data })}\n`);
  };
  try {
    const end = await watchRun(place, { signal: interrupt.signal, onEvent, key });
    text?.end();
    if (end.how === 'sealed') {
      const { showCommand } = await import('./show.ts');
      if (text) await showCommand(place.folder, {});
      return end.exitCode;
    }
    if (end.how === 'stopped') return interrupt.exit() ?? 130;
    const { resume = 'proctor recover' } = (await listedNow(place)).run;
    stderr.write(`The run was interrupted. Continue it with \`${printable(resume)}\`.\n`);
    return 1;
  } finally {
    text?.end();
    interrupt.end();
  }
}
