import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { compareVersions, type VersionWord } from '../../verbs/compare-versions.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import type { MatrixFormat } from '../../verbs/matrix-text.ts';
import { interruptions } from '../options/interruptions.ts';
import { limitsFromFlags } from '../options/limit-flags.ts';
import { namedKey } from '../options/variables.ts';
import { gateOption } from '../text/gate-word.ts';
import { printMatrix } from '../text/matrix-output.ts';
import type { CompareFlags } from './compare.ts';

/** `compare` with three or more runs. */
export async function compareVersionsCommand(runs: readonly string[], flags: CompareFlags): Promise<number> {
  refuseFlags(flags);
  const interrupt = interruptions();
  try {
    const limits = limitsFromFlags(flags);
    const compared = await compareVersions({
      ...namedKey(),
      versions: namedRuns(runs, flags.name ?? []),
      // The library refuses the formats that only two runs have.
      formats: (flags.format ?? ['html']).filter(format => format !== 'terminal') as MatrixFormat[],
      ...gateOption(flags.gate),
      ...(limits && { limits }),
      ...(flags.allPairs && { allPairs: true }),
      ...(flags.allowRemoved && { allowRemoved: true }),
      ...(flags.allowWeakened && { allowWeakened: true }),
      ...(flags.out !== undefined && { out: flags.out }),
      ...(flags.rejudge && { rejudge: true }),
      ...(flags.key !== undefined && { key: flags.key }),
      signal: interrupt.signal,
    });
    printMatrix(compared, flags.json === true);
    return interrupt.exit() ?? compared.matrix.exit_code;
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}

/** Refuses flags that need exactly two runs, because ignoring them would mislead. */
function refuseFlags(flags: CompareFlags): void {
  const first = TWO_SIDED.find(name => flags[name] !== undefined);
  if (first === undefined) return;
  const flag = `--${first.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
  throw new Fault('usage', `${flag} needs exactly two runs. Compare two of the versions, or omit it.`);
}

const TWO_SIDED = [
  'again',
  'againTrials',
  'againTime',
  'againCost',
  'baseUrl',
  'baselineUrl',
  'target',
  'baselineTarget',
  'script',
  'baselineScript',
  'policy',
  'dir',
  'header',
  'cases',
] as const satisfies readonly (keyof CompareFlags)[];

/** `--name RUN=NAME`. A run may contain "=", so the longest run that fits counts. */
function namedRuns(runs: readonly string[], names: readonly string[]): VersionWord[] {
  const given = new Map<string, string>();
  for (const text of names) {
    const [run] = runs.filter(one => text.startsWith(`${one}=`)).sort((a, b) => b.length - a.length);
    if (run === undefined)
      throw new Fault(
        'usage',
        `--name ${printable(text)} names none of the runs. Use RUN=NAME, with RUN exactly as you typed it.`,
      );
    given.set(run, text.slice(run.length + 1));
  }
  return runs.map(run => ({ run, ...(given.has(run) && { name: given.get(run) }) }));
}
