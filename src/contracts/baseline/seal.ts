import { canonicalize } from '../../base/canonical.ts';
import { bytesHash } from '../../base/hash.ts';
import { baselineDoubts, type Foundation, judgementStatement, openJudgement } from '../judgement-seal/index.ts';
import { type SealEnvelope, sealEnvelope, type Signer } from '../seal/index.ts';
import type { Baseline } from './index.ts';

/** A baseline without its seal. */
export type BareBaseline = Omit<Baseline, 'seal'>;

/** The same baseline with a seal in it: one file that cannot be separated from its seal. */
export function sealedBaseline(
  bare: BareBaseline,
  restsOn: readonly Foundation[],
  judgeVersion: string,
  signer?: Signer,
): Baseline {
  const { accepted_at: sealedAt } = bare;
  const files = [{ path: NAME, ...digestOf(bare) }];
  const statement = judgementStatement({ kind: 'baseline', id: null, judgeVersion, sealedAt, files, restsOn });
  return { ...bare, seal: sealEnvelope(statement, signer) };
}

/** What the sealed file is called, whatever name the baseline was given. */
const NAME = 'proctor-baseline.json';

/** Over the baseline without its seal, as it would be written: canonical JSON and a line feed. */
function digestOf(bare: object): { readonly sha256: string; readonly bytes: number } {
  const text = `${canonicalize(bare)}\n`;
  return { sha256: bytesHash(text), bytes: Buffer.byteLength(text) };
}

/** What is wrong with the seal in a baseline, one trouble at a time; nothing if it fits. */
export function* sealTroubles({ seal, ...bare }: Baseline & { seal: SealEnvelope }): Generator<[string, string]> {
  const opened = openJudgement(seal);
  if (!opened.ok) {
    yield ['seal', `cannot be read: ${opened.message}`];
    return;
  }
  const { statement } = opened;
  for (const { at, message } of baselineDoubts(statement, bare)) yield [`seal.${at}`, message];
  const { sha256, bytes } = digestOf(bare);
  const [subject] = statement.subject;
  if (subject?.digest.sha256 !== sha256.slice('sha256:'.length) || subject.annotations.size_bytes !== bytes) {
    yield ['seal', 'is not that of this baseline: something was changed after it was accepted'];
  }
}

/** The hash by which a comparison names the seal of a baseline. */
export function baselineSealHash({ seal }: Baseline): string | undefined {
  return seal && bytesHash(canonicalize(seal));
}
