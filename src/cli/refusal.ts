import { Fault } from '../base/fault.ts';
import { printableJson } from '../base/printable.ts';
import { stderr, stdout } from './out.ts';

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Says why a command did not do what it was asked. */
export function tellRefusal({ code, message }: Refusal, isJson: boolean): void {
  if (isJson) writeRefusal({ code, message });
  stderr.write(`error: ${message}\n`);
}

/** The exit code of a run that failed because somebody stopped it, which is told; any other failure goes on. */
export function exitOfStopped(error: unknown, exit: number | undefined, isJson: boolean): number {
  if (exit === undefined || !(error instanceof Fault)) throw error;
  tellRefusal(error, isJson);
  return exit;
}

/** The one document that whoever asked for JSON gets in the place of an answer. */
export function writeRefusal({ code, message }: Refusal): void {
  stdout.write(`${printableJson({ ok: false, error: { code, message } })}\n`);
}

/** Words after `--` are not ours. */
export function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end < 0 ? args.length : end).includes('--json');
}
