import { printable, printableJson } from '../../base/printable.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { runAttempts, type RunAttemptsOptions } from '../../verbs/run-attempts.ts';
import { interruptions } from '../options/interruptions.ts';
import { tracingHere } from '../options/tracing.ts';
import { AttemptsProgress, watchedSize } from '../text/attempts-progress.ts';
import { attemptsJson, attemptsText } from '../text/attempts-text.ts';
import { stderr, stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { exitOfStopped } from '../text/refusal.ts';
import { agentOptionsOf, type RunAgentFlags } from './run-agent.ts';

/** `run agent --attempts N`. */
export async function runAttemptsCommand(flags: RunAgentFlags, attempts: number): Promise<number> {
  const paint = paintFor(2);
  const interrupt = interruptions();
  const size = watchedSize(process.stderr, process.env);
  const progress = new AttemptsProgress(stderr.write, { size, of: attempts, paint });
  const tracing = await tracingHere();
  try {
    const options: RunAttemptsOptions = {
      ...agentOptionsOf(flags),
      attempts,
      signal: interrupt.signal,
      onAttempt: progress.take,
      onWarning: sentence => progress.say(`${paint('note', 'warning')}: ${printable(sentence)}`),
    };
    const { report, folders } = await (tracing ? tracing.attempts(runAttempts, options) : runAttempts(options));
    progress.end();
    if (flags.json) stdout.write(`${printableJson(attemptsJson(report, folders))}\n`);
    else stdout.write(attemptsText(report, paintFor(1), process.stdout.columns));
    return interrupt.exit() ?? report.exit_code;
  } catch (error) {
    progress.end();
    return exitOfStopped(error, interrupt.exit(), flags.json === true);
  } finally {
    await closeLauncher();
    await tracing?.end();
    interrupt.end();
  }
}
