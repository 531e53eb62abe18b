import { printable, printableJson } from '../../base/printable.ts';
import { projectConfig } from '../../verbs/config.ts';
import { overridesFrom, type TestFlags } from '../options/test-flags.ts';
import { stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';

export function configCommand(suites: readonly string[], flags: TestFlags & { readonly json?: true }): number {
  const config = projectConfig({ ...overridesFrom(flags), ...(suites.length > 0 && { suites }) });
  if (flags.json) {
    stdout.write(`${printableJson({ kind: 'config', ...config })}\n`);
    return 0;
  }
  const paint = paintFor(1);
  for (const { name, settings } of config.suites) {
    const rows = settings.map(({ key, value, from }) => ({ key, value: valueText(value), from }));
    const [keys, values] = (['key', 'value'] as const).map(of => Math.max(...rows.map(row => row[of].length)));
    stdout.write(`${paint('strong', name)}\n`);
    for (const { key, value, from } of rows)
      stdout.write(`  ${key.padEnd(keys ?? 0)}  ${value.padEnd(values ?? 0)}  ${paint('faint', from)}\n`);
  }
  return 0;
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : printable(value.join(', '));
  return printable(String(value));
}
