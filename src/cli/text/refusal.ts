import { Fault } from '../../base/fault.ts';
import { printableJson } from '../../base/printable.ts';
import { stderr, stdout } from './out.ts';

interface Refusal {
  readonly code: string;
  readonly message: string;
}

export function reportFault({ code, message }: Refusal, isJson: boolean): void {
  if (isJson) writeRefusal({ code, message });
  stderr.write(`error: ${message}\n`);
}

/** Reports a run that failed because a signal stopped it, and returns its exit code. Rethrows any other failure. */
export function exitOfStopped(error: unknown, exit: number | undefined, isJson: boolean): number {
  if (exit === undefined || !(error instanceof Fault)) throw error;
  reportFault(error, isJson);
  return exit;
}

/** The document that `--json` prints instead of a result. */
export function writeRefusal({ code, message }: Refusal): void {
  stdout.write(`${printableJson({ ok: false, error: { code, message } })}\n`);
}

/** Arguments after `--` belong to the script. */
export function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end < 0 ? args.length : end).includes('--json');
}
