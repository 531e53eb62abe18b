import path from 'node:path';
import type { Baseline } from '../contracts/baseline/index.ts';
import { capOf, examine } from './examine.ts';
import { notRead } from './file.ts';
import { SL } from './folder-rules.ts';
import type { Options } from './options.ts';
import { signatureTrouble, type Trust } from './signatures.ts';
import { openRegular, readWhole } from './source.ts';
import { refused, type Verdict } from './verdict.ts';

/** One file with a key: an accepted baseline holds its own seal. Of any other document, only a folder can tell. */
export async function verifySigned(file: string, options: Options, trust: Trust): Promise<Verdict> {
  const source = readWhole(openRegular(file), await capOf(options, path.basename(file)));
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
  const trouble = signatureTrouble(trust, seal);
  const key_ids = seal.signatures.flatMap(({ keyid }) => keyid ?? []);
  const signatures = { signed: 1, unsigned: 0, key_ids, checked: trouble === undefined };
  if (!trouble) return { ...verdict, signatures };
  const finding = { rule_id: trouble.rule, message: `The seal of the baseline ${trouble.message}.`, path: 'seal' };
  return { ...verdict, outcome: 'invalid', violations: [finding], hash: undefined, signatures };
}

const UNSIGNED = 'is not signed: anybody who changed it could have written its seal';

/** One document may be as it was signed or not: nothing but the seal of its folder tells. */
export const ONLY_FOLDERS =
  'A key checks the seal of a whole run or comparison, or of an accepted baseline, and this is none of them.';
