import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import { type Accepted, acceptBaseline } from '../../verbs/baseline.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { judgementJson, judgementLine } from '../text/judgement-text.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { sealedText } from '../text/run-text.ts';
import { countText, numberText } from '../text/units.ts';
import { namedKey } from '../options/variables.ts';

export async function acceptCommand(word: string, { out, json }: { out: string; json?: true }): Promise<number> {
  try {
    const accepted = await acceptBaseline(word, out, process.cwd(), namedKey());
    const { file, packFile, pack, cases, passed, runIds, isNew, keyId, judgements } = accepted;
    const [name, packName] = [file, packFile].map(one => path.relative(process.cwd(), one)) as [string, string];
    const paint = paintFor(1);
    if (json) {
      const told = judgements.map(judgementJson);
      const document = {
        file: name,
        pack: { file: packName, ...pack },
        run_ids: runIds,
        cases,
        passed,
        key_id: keyId,
        judgements: told,
      };
      stdout.write(`${printableJson(document)}\n`);
    } else {
      const mark = passed === 0 ? paint('note', '!') : paint('good', '✓');
      stdout.write(
        `${judgementLine(judgements, paint)}${mark} ${paint('strong', isNew ? 'accepted' : 'accepted again')}  ${countText(cases, 'case')}, ${numberText(passed)} passing, from ${runIds.map(printable).join(', ')}\n` +
          `  baseline  ${printable(name)}, ${sealedText(keyId)}\n` +
          `  pack      ${printable(packName)}, ${packText(pack)}\n` +
          paint('faint', `            commit both files, then run: proctor compare ${printable(name)} new\n`),
      );
    }
    if (passed === 0) stderr.write(NOTHING_PASSES);
    return 0;
  } finally {
    await closeLauncher();
  }
}

function packText({ bytes, artifacts, left_out }: Accepted['pack']): string {
  const rest = left_out === 0 ? '' : `; ${countText(left_out, 'document')} left out because of size`;
  return `${countText(artifacts, 'stored answer')} to explain changes, ${Math.ceil(bytes / 1024)} KiB${rest}`;
}

const NOTHING_PASSES =
  'warning: No case in this run passes, so no candidate can regress against this baseline. Accept a run of a version that works.\n';
