import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import type { Shard } from '../../contracts/suite/shard.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { testProject, type TestOptions, type TestResult } from '../../verbs/test/test-project.ts';
import { interruptions } from '../options/interruptions.ts';
import { overridesFrom, type TestFlags } from '../options/test-flags.ts';
import { tracingHere } from '../options/tracing.ts';
import { stayLean } from '../options/v8-heap.ts';
import { namedKey } from '../options/variables.ts';
import { addStepSummary } from '../text/step-summary.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { reportFault } from '../text/refusal.ts';
import { ProgressLine, watchedColumns } from '../text/progress.ts';
import { endText, suiteTestJson, suiteTestText } from '../text/test-text.ts';
import { countText } from '../text/units.ts';

interface TestCommandFlags extends TestFlags {
  readonly shard?: Shard;
  readonly parts?: readonly string[];
  readonly key?: readonly string[];
  readonly accept?: true;
  readonly watch?: true;
  readonly out?: string;
  readonly json?: true;
}

export async function testCommand(suites: readonly string[], flags: TestCommandFlags): Promise<number> {
  stayLean();
  const interrupt = interruptions();
  const tracing = await tracingHere();
  try {
    const options = {
      ...optionsOf(suites, flags, interrupt.signal),
      ...shown(flags.json === true),
      ...defined({ tracer: tracing?.tracer }),
    };
    if (flags.watch && (flags.shard ?? flags.parts))
      throw new Fault('usage', 'Use --watch without --shard and --parts.');
    if (!flags.watch) {
      const code = endOf(await testProject(options), flags);
      return interrupt.exit() ?? code;
    }
    const { watchProject } = await import('../../verbs/test/watch.ts');
    const last = await watchProject(options, {
      onResult: result => void endOf(result, flags),
      onFault: fault => reportFault(fault, flags.json === true),
      onWait: () => stderr.write(`\nWaiting for a change. Stop with Ctrl-C.\n`),
      onChange: file => stderr.write(`\n${printable(file)} changed.\n`),
      onIgnored: file =>
        stderr.write(
          `${paintFor(2)('note', 'warning')}: ${printable(file)} changes in every run. Proctor no longer watches it.\n`,
        ),
      onRestless: file =>
        stderr.write(
          `${paintFor(2)('note', 'warning')}: A file changes after every test, most recently ${printable(file)}. Proctor waits for the next change.\n`,
        ),
    });
    return last?.exitCode ?? interrupt.exit() ?? 0;
  } finally {
    await closeLauncher();
    await tracing?.end();
    interrupt.end();
  }
}

function optionsOf(suites: readonly string[], flags: TestCommandFlags, signal: AbortSignal): TestOptions {
  return {
    ...overridesFrom(flags),
    ...namedKey(),
    ...(suites.length > 0 && { suites }),
    ...(flags.accept && { accept: true }),
    ...defined({ out: flags.out, shard: flags.shard, parts: flags.parts, keys: flags.key }),
    environment: process.env,
    signal,
  };
}

/** Shows progress on standard error, and the result of each suite on standard output. */
function shown(isJson: boolean): Partial<TestOptions> {
  const paint = paintFor(2);
  const progress = new ProgressLine(stderr.write, watchedColumns(process.stderr, process.env));
  return {
    onFolder: ({ id }) => progress.begin(id),
    onProgress: progress.show,
    ...defined({ onVerdict: progress.onVerdict }),
    onRound: ({ round, cases, sides }) => {
      if (round > 1) return;
      progress.end();
      const where = sides === 'both' ? 'on both sides' : 'on the candidate only';
      stderr.write(
        `  Running ${countText(cases, 'suspect case')} again ${where}, until more trials would settle nothing.\n`,
      );
    },
    onWarning: sentence => {
      progress.end();
      stderr.write(`${paint('note', 'warning')}: ${sentence}\n`);
    },
    onTested: tested => {
      progress.end();
      if (!isJson) stdout.write(suiteTestText(tested, paintFor(1)));
      if (tested.subject) addStepSummary(tested.subject);
    },
  };
}

function endOf(result: TestResult, flags: TestCommandFlags): number {
  if (flags.json) {
    const document = { kind: 'test', suites: result.suites.map(suiteTestJson), exit_code: result.exitCode };
    stdout.write(`${printableJson(document)}\n`);
  } else stdout.write(endText(result, flags.accept === true, paintFor(1)));
  return result.exitCode;
}
