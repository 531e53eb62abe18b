import type { Evaluation } from '../../contracts/evaluation/index.ts';
import { evaluation as contract } from '../../contracts/evaluation/index.ts';
import { evaluationSums } from '../../contracts/evaluation/shape.ts';
import { hasShape } from '../document.ts';
import { findEvaluation } from './evaluation-files.ts';

export type EvaluationSums = Pick<Evaluation, 'summary' | 'gate'>;

/**
 * Reads the summary and gate of a sealed evaluation. In canonical JSON they follow the cases, so a list of runs does
 * not have to parse up to 100,000 cases.
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
    return hasShape(sums, evaluationSums) ? sums : undefined;
  } catch {
    return undefined;
  }
}

const AFTER_CASES = '],"cases_sha256":';
