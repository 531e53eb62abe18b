import { DOES_NOT_VERIFY } from '../../reports/pages/page-kinds.ts';
import type { EvidenceTop, LedgerFacts } from './evidence-view.ts';

/** The verdict on a run, with what the ledger says about it. A run without a line may come from elsewhere. */
export function ledgerTop(top: EvidenceTop, { state, chain_holds: holds }: LedgerFacts): EvidenceTop {
  if (top.tone === 'bad') return top;
  if (state === 'differs')
    return { tone: 'bad', word: DOES_NOT_VERIFY, sentence: 'The ledger names another seal for this run.' };
  if (holds === false)
    return { tone: 'unsure', word: top.word, sentence: `${top.sentence} The chain of the ledger is broken.` };
  if (state === 'missing')
    return { ...top, sentence: `${top.sentence} The ledger of this project has no line for the run.` };
  return top;
}
