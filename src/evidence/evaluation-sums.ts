import type { Evaluation } from '../contracts/evaluation/index.ts';
import { evaluation as contract } from '../contracts/evaluation/index.ts';
import { evaluationSums } from '../contracts/evaluation/shape.ts';
import { formOf } from '../contracts/form.ts';
import { findEvaluation } from './evaluation-files.ts';

/** What an evaluation comes to, without its cases. */
export type EvaluationSums = Pick<Evaluation, 'summary' | 'gate'>;

/**
 * The sums of the evaluation of a suite, if it is bound to its seal. In canonical JSON they come after the cases, of which
 * there may be a hundred thousand, so a list of runs need not parse those.
 */
export function evaluationSumsIn(folder: string): EvaluationSums | undefined {
  const found = findEvaluation(folder, contract, undefined);
  if (found.state !== 'sound') return undefined;
  const end = found.bytes.lastIndexOf(AFTER_CASES);
  if (end < 0) return undefined;
  try {
    const text = `{${found.bytes.toString('utf8', end + '],'.length)}`;
    const { summary, gate } = JSON.parse(text) as EvaluationSums;
    const sums = { summary, ...(gate && { gate }) };
    return formOf(evaluationSums).fits(sums) ? sums : undefined;
  } catch {
    return undefined;
  }
}

const AFTER_CASES = '],"cases_sha256":';
