import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import { historyOf } from '../../verbs/history/history.ts';
import { viewHistory } from '../../verbs/history/view-history.ts';
import { namedKey } from '../options/variables.ts';
import { historyLines } from '../text/history-text.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';

interface HistoryFlags {
  readonly limit: number;
  readonly as?: 'baseline' | 'new';
  readonly open?: true;
  readonly html?: string;
  readonly json?: true;
}

export async function historyCommand(
  name: string | undefined,
  caseId: string | undefined,
  { limit, as: side, open, html, json }: HistoryFlags,
): Promise<number> {
  const asked = { name, caseId, limit, side, ...namedKey() };
  if (!open && html === undefined) {
    const history = historyOf(asked);
    if (json) stdout.write(`${printableJson(history)}\n`);
    else stdout.write(`${historyLines(history, paintFor(1)).join('\n')}\n`);
    return 0;
  }
  const { file, isOpened } = await viewHistory({
    ...asked,
    file: html,
    isOpening: open === true,
    environment: process.env,
  });
  const report = path.relative(process.cwd(), file);
  if (json) stdout.write(`${printableJson({ report, opened: isOpened })}\n`);
  else stdout.write(`${printable(report)}\n`);
  if (open && !isOpened && !json)
    stderr.write('Proctor found no browser here. Open the file in a browser, or set BROWSER.\n');
  return 0;
}
