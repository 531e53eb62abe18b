import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { reproduce } from '../../verbs/reproduce.ts';
import { interruptions } from '../options/interruptions.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { WAITING } from '../text/run-text.ts';
import { namedKey } from '../options/variables.ts';

export async function reproduceCommand(word: string, { json }: { readonly json?: true }): Promise<number> {
  const interrupt = interruptions();
  try {
    const paint = paintFor(1);
    const { same, first, before, now, folder } = await reproduce(word, {
      ...namedKey(),
      signal: interrupt.signal,
      onWarning: sentence => stderr.write(`${paintFor(2)('note', 'warning')}: ${sentence}\n`),
      onWait: () => stderr.write(WAITING),
    });
    const relative = path.relative(process.cwd(), folder);
    const runs = { before: before.run_id, now: now.run_id, folder: relative };
    if (json) stdout.write(`${printableJson({ kind: 'reproduction', same, first: first ?? null, ...runs })}\n`);
    else {
      const lines = first
        ? [
            `${paint('bad', '✗')} ${paint('strong', 'differs')}  first difference at ${printable(first.path)}`,
            `  before    ${printable(first.before)}`,
            `  now       ${printable(first.now)}`,
          ]
        : [`${paint('good', '✓')} ${paint('strong', 'identical')}  byte for byte, except for ids and times`];
      stdout.write(`${[...lines, `  run       ${before.run_id}`, `  again     ${printable(relative)}`].join('\n')}\n`);
    }
    return interrupt.exit() ?? (same ? 0 : 1);
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}
