import { readJson } from '../base/json.ts';
import { runner } from '../contracts/runner/index.ts';
import { type DocumentJudgement, judge } from '../verify/document.ts';
import { openForReading, readStandardInput, readWhole } from '../verify/source.ts';
import { EXIT } from '../verify/verdict.ts';

export interface RunnerAnswer {
  readonly exit: number;
  /** Why there is no judgement. */
  readonly trouble?: string;
  readonly judgement?: DocumentJudgement;
}

/** The verifier of the Runner Specification: one file, or `-` for standard input. */
export function runnerVerify(file: string, options: { strict: boolean; bytesMax?: number }): RunnerAnswer {
  const bytesMax = options.bytesMax ?? runner.bytesMax;
  const source = file === '-' ? readStandardInput(bytesMax) : readWhole(openForReading(file), bytesMax);
  if (!source.ok) return { exit: EXIT[source.outcome], trouble: source.message };
  const reading = readJson(source.bytes, { bytesMax });
  if (!reading.ok) return { exit: EXIT.refused, trouble: reading.refusal.message };
  const judgement = judge(runner, reading, { strict: options.strict, internal: false });
  return { exit: judgement.valid ? EXIT.valid : EXIT.invalid, judgement };
}
