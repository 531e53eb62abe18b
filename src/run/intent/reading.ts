import type { Capture } from '../../contracts/capture.ts';
import type { Ending } from '../../contracts/ending.ts';
import { type Bundle, foldersAbove, type IntentOutcome } from '../../contracts/intent/index.ts';
import { exitOf } from '../../evidence/step/endings.ts';
import type { OutputReading } from '../../evidence/ingest/output.ts';
import { publicSentence } from '../../evidence/ingest/reason.ts';
import type { IntentReading } from '../../evidence/intent/intent-run.ts';
import { counted, quotedText } from './words.ts';

export interface Left {
  readonly bundle: Bundle;
  readonly capture: Pick<Capture, 'ending' | 'command'>;
  readonly output: OutputReading;
  /** Keyed by path in the work folder. */
  readonly files: ReadonlyMap<string, { readonly sha256: string; readonly bytes: number }>;
  readonly checks: IntentOutcome['checks'];
}

/** Judges a run by how its commands ended, then by their outputs, then by the checks. */
export function intentReading({ bundle, capture, output, files, checks }: Left): IntentReading {
  const { ending, command = 0 } = capture;
  const there = new Set([...files.keys(), ...[...files.keys()].flatMap(foldersAbove)]);
  const missing = bundle.outputs.filter(path => !there.has(path));
  const failed = checks.flatMap(({ check, message }, index) =>
    message === null ? [] : [`accept[${index}], ${check}: ${message}`],
  );
  const commandTrouble = troubleOf(ending, command);
  const troubles = [
    ...(commandTrouble === undefined ? [] : [commandTrouble]),
    ...(output.ok ? [] : [publicSentence(output.code)]),
    ...(output.ok ? missing.slice(0, SHOWN_MAX).map(path => `The output ${quotedText(path)} is not there.`) : []),
    ...failed.slice(0, SHOWN_MAX),
  ];
  return {
    exitCode: commandTrouble === undefined ? Number(troubles.length > 0) : exitOf(ending).code,
    outputs: [...files].map(([path, { bytes, sha256 }]) => ({ path, bytes, sha256 })),
    refused: output.ok ? null : output.code,
    missing,
    checks: commandTrouble === undefined ? checks : checks.map(notEnded),
    reasons: troubles.length > 0 ? troubles : [wellDone(bundle)],
    remarks: output.ok ? [] : [{ level: 'warning', code: output.code, detail: output.detail }],
  };
}

/** A failed check of the exit code. */
function notEnded(check: IntentOutcome['checks'][number]): IntentOutcome['checks'][number] {
  return check.check === 'exit_code' ? { ...check, held: false, message: 'The commands did not end with 0.' } : check;
}

/** States no signal and no time, because two runs with the same ending may differ in them. */
function troubleOf(ending: Ending, command: number): string | undefined {
  const place = `commands[${command}]`;
  if (ending.how === 'exited') return ending.code === 0 ? undefined : `${place} ended with exit code ${ending.code}.`;
  if (ending.how === 'not_started')
    return `${place} could not be started: ${ending.code === 127 ? 'there is no such program in the sandbox' : 'it is not executable'}.`;
  if (ending.how === 'out_of_memory') return `${place} ran out of memory.`;
  if (ending.how === 'signalled') return `${place} was ended by a signal.`;
  if (ending.how === 'lost') return `${place} was interrupted, which was not its own doing.`;
  return `${place} was stopped: ${STOPPED_BY[ending.by]}.`;
}

const STOPPED_BY = {
  timeout: 'its time was over',
  idle: 'it said nothing for too long',
  cpu: 'it used more processor time than allowed',
  cancel: 'the run was cancelled',
  policy: 'it broke its policy',
} as const;

function wellDone({ commands, outputs, accept }: Bundle): string {
  const parts = [
    `${counted(commands.length, 'command')} ended with 0`,
    `${counted(outputs.length, 'output')} ${outputs.length === 1 ? 'is' : 'are'} there`,
    `${counted(accept.length, 'check')} held`,
  ];
  return `${parts.join(', ')}.`;
}

const SHOWN_MAX = 20;
