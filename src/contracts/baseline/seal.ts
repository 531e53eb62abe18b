import { canonicalize } from '../../base/canonical.ts';
import { bytesHash } from '../../base/hash.ts';
import { baselineContradictions, type Foundation, judgementStatement, openJudgement } from '../judgement-seal/index.ts';
import { type SealEnvelope, sealEnvelope, type Signer } from '../seal/index.ts';
import type { Baseline } from './index.ts';

export type BareBaseline = Omit<Baseline, 'seal'>;

/** Embeds the seal in the baseline, so that the two cannot be separated. */
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

/** The name of the sealed file, regardless of the baseline's file name. */
const NAME = 'proctor-baseline.json';

/** The digest of the baseline without its seal, as canonical JSON with a trailing line feed. */
function digestOf(bare: object): { readonly sha256: string; readonly bytes: number } {
  const text = `${canonicalize(bare)}\n`;
  return { sha256: bytesHash(text), bytes: Buffer.byteLength(text) };
}

/** Yields the path and message of each problem with the seal. */
export function* sealFindings({ seal, ...bare }: Baseline & { seal: SealEnvelope }): Generator<[string, string]> {
  const opened = openJudgement(seal);
  if (!opened.ok) {
    yield ['seal', `cannot be read: ${opened.message}`];
    return;
  }
  const { statement } = opened;
  for (const { at, message } of baselineContradictions(statement, bare)) yield [`seal.${at}`, message];
  const { sha256, bytes } = digestOf(bare);
  const [subject] = statement.subject;
  if (subject?.digest.sha256 !== sha256.slice('sha256:'.length) || subject.annotations.size_bytes !== bytes) {
    yield ['seal', 'does not match this baseline: it changed after it was accepted'];
  }
}

/** The hash by which a comparison refers to a baseline's seal. */
export function baselineSealHash({ seal }: Baseline): string | undefined {
  return seal && bytesHash(canonicalize(seal));
}
