import path from 'node:path';
import type { Baseline } from '../contracts/baseline/index.ts';
import { capOf, examine } from './examine.ts';
import { notRead } from './file.ts';
import { SL } from './folder-rules.ts';
import type { Options } from './options.ts';
import { signatureFault, type Trust } from './signatures.ts';
import { openForReading, readWhole } from './source.ts';
import { refused, type Verdict } from './verdict.ts';

/**
 * Verifies a single file with a key. Only an accepted baseline contains its own seal; other documents need their
 * folder.
 */
export async function verifySigned(file: string, options: Options, trust: Trust): Promise<Verdict> {
  const source = readWhole(openForReading(file), await capOf(options, path.basename(file)));
  if (!source.ok) return notRead(file, source);
  const { verdict, contract, value } = await examine(
    source.bytes,
    { input: file, fileName: path.basename(file) },
    options,
  );
  if (verdict.outcome === 'refused') return verdict;
  if (contract?.name !== 'baseline') return refused(file, 'usage', ONLY_FOLDERS);
  if (verdict.outcome !== 'valid') return verdict;
  const { seal } = value as Baseline;
  if (!seal || seal.signatures.length === 0) {
    const finding = { rule_id: SL.SL10.id, message: `The baseline ${seal ? UNSIGNED : 'has no seal'}.` };
    if (!trust.isRequired) return { ...verdict, advice: [...verdict.advice, finding] };
    return { ...verdict, outcome: 'invalid', violations: [finding], hash: undefined };
  }
  const violation = signatureFault(trust, seal);
  const key_ids = seal.signatures.flatMap(({ keyid }) => keyid ?? []);
  const signatures = { signed: 1, unsigned: 0, key_ids, checked: violation === undefined };
  if (!violation) return { ...verdict, signatures };
  const finding = { rule_id: violation.rule, message: `The seal of the baseline ${violation.message}.`, path: 'seal' };
  return { ...verdict, outcome: 'invalid', violations: [finding], hash: undefined, signatures };
}

const UNSIGNED = 'is not signed: anyone who changed it could have written its seal';

export const ONLY_FOLDERS =
  'A key verifies the seal of a run, a comparison or an accepted baseline. This file is none of these.';
