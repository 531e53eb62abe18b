import path from 'node:path';
import { readRegular } from '../../base/regular.ts';
import { expiry } from '../../contracts/expiry/index.ts';
import { seal } from '../../contracts/seal/index.ts';
import { hasJournal, isSealed } from '../../evidence/recovery/recover.ts';
import { EXPIRED } from '../../evidence/run-folder/expired.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import { checkerIfUsable } from '../keys.ts';
import { byHand } from './by-hand.ts';
import type { EvidenceView } from './evidence-view.ts';
import { evidenceTop, expiredFactsIn, sealFactsIn } from './sealed-facts.ts';
import { verifiedView } from './verified-view.ts';

/** Everything about the evidence of a run except its line in the ledger, which changes without the run. */
export type RunEvidence = Omit<EvidenceView, 'ledger'>;

/** Verifies a run folder of this project, and says who vouches for it. Reads every file of the run. */
export async function runEvidence({
  folder,
  cwd,
}: {
  readonly folder: string;
  readonly cwd: string;
}): Promise<RunEvidence> {
  const id = path.basename(folder);
  if (!isSealed(folder) && hasJournal(folder)) return { ...NOTHING, run_id: id, is_open: true, top: OPEN };
  const found = sealFactsIn(readRegular(path.join(folder, SEAL), seal.bytesMax), checkerIfUsable(cwd));
  const view = await verifiedView(folder, found?.options ?? {});
  const signature = found?.signature ?? null;
  const expired = expiredFactsIn(readRegular(path.join(folder, EXPIRED), expiry.bytesMax));
  const hasHands = found !== undefined && expired === null && signature !== null;
  return {
    run_id: id,
    is_open: false,
    top: found || view.outcome !== 'valid' ? evidenceTop(view, signature) : NO_SEAL_TOP,
    verified: view,
    seal: found?.facts ?? null,
    signature,
    expired,
    by_hand: hasHands ? byHand(path.relative(cwd, folder), signature.state !== 'unsigned') : null,
  };
}

const NOTHING = { verified: null, seal: null, signature: null, expired: null, by_hand: null };

const OPEN = {
  tone: 'unsure',
  word: 'Not sealed yet',
  sentence: 'The run is not finished. Its evidence is sealed when it ends.',
} as const;

const NO_SEAL_TOP = {
  tone: 'bad',
  word: 'No seal',
  sentence: 'The folder has no seal, so nothing shows whether its files changed.',
} as const;
