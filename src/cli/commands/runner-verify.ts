import { printable, printableJson } from '../../base/printable.ts';
import { type RunnerAnswer, runnerVerify } from '../../verbs/runner-verify.ts';
import { stderr, stdout } from '../text/out.ts';
import { countText } from '../text/units.ts';

/** Writes one line of JSON per file to stdout, as the specification requires, and text for people to stderr. */
export function runnerVerifyCommand(
  files: readonly string[],
  options: { strict?: true; maxBytes?: number; json?: true },
): number {
  let exit = 0;
  const { strict = false, maxBytes: bytesMax, json } = options;
  if (json) stdout.write('{"inputs":[');
  for (const [index, file] of files.entries()) {
    const answer =
      file === '-' && files.indexOf('-') < index
        ? { exit: 2, trouble: 'Standard input can be read only once.' }
        : runnerVerify(file, bytesMax === undefined ? { strict } : { strict, bytesMax });
    // The specification defines the form for one file. With several, each line also names its file.
    const named = json && answer.trouble !== undefined ? { file, message: answer.trouble } : { file };
    const line = printableJson(files.length === 1 && !json ? answerOf(answer) : { ...named, ...answerOf(answer) });
    stdout.write(json ? `${index === 0 ? '' : ',\n'}${line}` : `${line}\n`);
    explain(file, answer);
    exit = Math.max(exit, answer.exit);
  }
  if (json) stdout.write(`],"ok":${exit === 0},"exit_code":${exit}}\n`);
  return exit;
}

function answerOf({ judgement }: RunnerAnswer): object {
  return judgement?.valid
    ? { ok: true, runner_hash: judgement.hash }
    : { ok: false, violations: judgement?.violations ?? [] };
}

function explain(file: string, { trouble, judgement }: RunnerAnswer): void {
  const name = printable(file === '-' ? 'standard input' : file);
  if (trouble) stderr.write(`${name}: ${trouble}\n`);
  for (const { rule_id, message } of judgement?.advice ?? [])
    stderr.write(`${name}: advice ${rule_id}: ${printable(message)}\n`);
  if (judgement?.omitted)
    stderr.write(`${name}: ${countText(judgement.omitted, 'more finding is', 'more findings are')} not listed.\n`);
}
