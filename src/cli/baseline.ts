import path from 'node:path';
import { printable, printableJson } from '../base/printable.ts';
import { acceptBaseline } from '../tool/baseline.ts';
import { closeLauncher } from '../tool/run-script.ts';
import { stdout } from './out.ts';
import { paintFor } from './paint.ts';
import { counted } from './units.ts';

export async function acceptCommand(word: string, { out, json }: { out: string; json?: true }): Promise<number> {
  try {
    const { file, cases, passed, runIds, isNew } = await acceptBaseline(word, out, process.cwd());
    const name = path.relative(process.cwd(), file);
    if (json) stdout.write(`${printableJson({ file: name, run_ids: runIds, cases, passed })}\n`);
    else {
      const paint = paintFor(1);
      stdout.write(
        `${paint('good', '✓')} ${paint('strong', isNew ? 'accepted' : 'accepted anew')}  ${counted(cases, 'case')}, ${passed} of them passing, from ${runIds.map(printable).join(', ')}\n` +
          `  baseline  ${printable(name)}\n` +
          paint('faint', `            commit it, and compare with: proctor compare ${printable(name)} new\n`),
      );
    }
    return 0;
  } finally {
    await closeLauncher();
  }
}
