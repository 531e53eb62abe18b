import type { EvidenceView, LedgerFacts } from '../../../src/verbs/evidence/evidence-view.ts';
import { Facts } from '../../pages/run/card.tsx';
import { Card } from '../../shared/card.tsx';
import { Copyable } from '../../shared/copy.tsx';
import { count } from '../../shared/format.ts';
import { Mark } from '../../shared/marks.tsx';
import { RunId } from '../../shared/run-id.tsx';
import { Says } from '../../shared/says.tsx';
import { Text } from '../../shared/visible.tsx';
import { Refused, Stale } from '../notice.tsx';
import { useHas } from '../session.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';
import { ExpiredCard, SealCard, Unchecked, Violations } from './parts.tsx';

/** Whether the evidence of a run holds, and who vouches for it. */
export function RunEvidencePage({ parts: [id = ''] }: ViewProps) {
  const path = `/v1/runs/${encodeURIComponent(id)}`;
  const { value: evidence, refusal, again } = useAnswer<EvidenceView>(`${path}/evidence`);
  const hasFiles = useHas('GET /v1/runs/{run_id}/files');
  useTitle(evidence ? `${evidence.top.word} · evidence of ${id}` : `Evidence of ${id}`);
  if (!evidence)
    return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Verifying every file…</p>;
  const here = `/runs/${encodeURIComponent(id)}`;
  return (
    <>
      <section class="verdict live-verdict" data-tone={evidence.top.tone} aria-label="Verdict">
        <p class="live-what">
          Evidence of{' '}
          <a href={here}>
            <RunId value={id} />
          </a>
        </p>
        <Says top={evidence.top}>
          <div class="live-actions">
            <button type="button" class="live-button" onClick={again}>
              Verify again
            </button>
            {hasFiles && !evidence.is_open && (
              <a class="live-button" href={`${here}/files`}>
                Files
              </a>
            )}
          </div>
        </Says>
      </section>
      <Stale refusal={refusal} />
      <div class="live-cards">
        {evidence.verified && <Violations verified={evidence.verified} />}
        <SealCard seal={evidence.seal} signature={evidence.signature} />
        {evidence.ledger && <LedgerCard ledger={evidence.ledger} />}
        <ExpiredCard expired={evidence.expired} />
        {evidence.by_hand !== null && <ByHand commands={evidence.by_hand} />}
        {evidence.verified && <Unchecked verified={evidence.verified} />}
      </div>
    </>
  );
}

function LedgerCard({ ledger }: { readonly ledger: LedgerFacts }) {
  const [kind, words] = LINES[ledger.state];
  return (
    <Card id="ledger" title="Ledger">
      <Facts
        rows={[
          [
            'Line of this run',
            <span class="run-probe">
              <Mark kind={kind} />
              {ledger.sequence === null ? words : `${words}, number ${count(ledger.sequence)}`}
              {ledger.lines !== null && ledger.sequence !== null && ` of ${count(ledger.lines)}`}
            </span>,
          ],
          [
            'Chain',
            ledger.chain_holds !== null && (
              <span class="run-probe">
                <Mark kind={ledger.chain_holds ? 'pass' : 'fail'} />
                {ledger.chain_holds ? 'holds: every line continues the one before' : 'broken'}
              </span>
            ),
          ],
        ]}
      />
      <ul class="evidence-lines">
        {ledger.troubles.map(({ line, rule_id, message }, index) => (
          <li key={index} class="evidence-line">
            <Mark kind="fail" />
            <span>
              {line !== '' && `Line ${line}: `}
              <code>{rule_id}</code> <Text value={message} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const LINES = {
  recorded: ['pass', 'there'],
  differs: ['fail', 'names another seal'],
  missing: ['error', 'none: the run was sealed elsewhere, or its line was removed'],
  no_ledger: ['error', 'none: this project has no ledger'],
} as const;

function ByHand({ commands }: { readonly commands: string }) {
  return (
    <Card id="by-hand" title="Check it without Proctor" note="with sha256sum and openssl, in the project folder">
      <div class="evidence-commands">
        <Copyable text={commands} label="the commands" />
      </div>
    </Card>
  );
}
