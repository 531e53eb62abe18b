import path from 'node:path';
import { printable, printableJson } from '../base/printable.ts';
import { acceptBaseline } from '../tool/baseline.ts';
import { closeLauncher } from '../tool/run-script.ts';
import { stderr, stdout } from './out.ts';
import { paintFor } from './paint.ts';
import { counted } from './units.ts';

export async function acceptCommand(word: string, { out, json }: { out: string; json?: true }): Promise<number> {
  try {
    const { file, cases, passed, runIds, isNew } = await acceptBaseline(word, out, process.cwd());
    const name = path.relative(process.cwd(), file);
    if (json) stdout.write(`${printableJson({ file: name, run_ids: runIds, cases, passed })}\n`);
    else {
      const paint = paintFor(1);
      const mark = passed === 0 ? paint('note', '!') : paint('good', '✓');
      stdout.write(
        `${mark} ${paint('strong', isNew ? 'accepted' : 'accepted anew')}  ${counted(cases, 'case')}, ${passed} of them passing, from ${runIds.map(printable).join(', ')}\n` +
          `  baseline  ${printable(name)}\n` +
          paint('faint', `            commit it, and compare with: proctor compare ${printable(name)} new\n`),
      );
    }
    if (passed === 0) stderr.write(NOTHING_PASSES);
    return 0;
  } finally {
    await closeLauncher();
  }
}

const NOTHING_PASSES =
  'warning: No case of this run passes, and what has never passed cannot regress: compared with this baseline, every version is good enough. Accept a run of a version that is known to work.\n';
