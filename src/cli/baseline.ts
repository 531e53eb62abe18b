import path from 'node:path';
import { printable, printableJson } from '../base/printable.ts';
import { acceptBaseline } from '../tool/baseline.ts';
import { closeLauncher } from '../tool/run-script.ts';
import { judgementJson, judgementLine } from './judgement-text.ts';
import { stderr, stdout } from './out.ts';
import { paintFor } from './paint.ts';
import { sealedText } from './run-text.ts';
import { counted } from './units.ts';
import { namedKey } from './variables.ts';

export async function acceptCommand(word: string, { out, json }: { out: string; json?: true }): Promise<number> {
  try {
    const accepted = await acceptBaseline(word, out, process.cwd(), namedKey());
    const { file, cases, passed, runIds, isNew, keyId, judgements } = accepted;
    const name = path.relative(process.cwd(), file);
    const paint = paintFor(1);
    if (json) {
      const told = judgements.map(judgementJson);
      const document = { file: name, run_ids: runIds, cases, passed, key_id: keyId, judgements: told };
      stdout.write(`${printableJson(document)}\n`);
    } else {
      const mark = passed === 0 ? paint('note', '!') : paint('good', '✓');
      stdout.write(
        `${judgementLine(judgements, paint)}${mark} ${paint('strong', isNew ? 'accepted' : 'accepted anew')}  ${counted(cases, 'case')}, ${passed} of them passing, from ${runIds.map(printable).join(', ')}\n` +
          `  baseline  ${printable(name)}, ${sealedText(keyId)}\n` +
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
