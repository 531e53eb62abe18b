import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { viewReport } from '../../verbs/view.ts';
import { interruptions } from '../options/interruptions.ts';
import { namedKey } from '../options/variables.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';

interface ViewFlags {
  readonly open: boolean;
  readonly json?: true;
}

export async function viewCommand(word: string, flags: ViewFlags): Promise<number> {
  const interrupt = interruptions();
  try {
    const { file, warning, isOpened } = await viewReport(word, {
      ...namedKey(),
      isOpening: flags.open,
      environment: process.env,
      signal: interrupt.signal,
    });
    const report = path.relative(process.cwd(), file);
    if (flags.json) stdout.write(`${printableJson({ report, opened: isOpened })}\n`);
    else stdout.write(`${printable(report)}\n`);
    if (warning !== undefined) stderr.write(`${paintFor(2)('note', 'warning')}: ${warning}\n`);
    if (flags.open && !isOpened && !flags.json)
      stderr.write('Proctor found no browser here. Open the file in a browser, or set BROWSER.\n');
    return interrupt.exit() ?? 0;
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}
