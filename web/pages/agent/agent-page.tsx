import { useEffect } from 'preact/hooks';
import type { AgentPage as Data } from '../../../src/reports/pages/agent-page-data.ts';
import { Card } from '../../shared/card.tsx';
import { count, plural } from '../../shared/format.ts';
import { Icon } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { type AgentAddress, agentHash, useAgentAddress } from './address.ts';
import { Checks } from './checks.tsx';
import { Claims } from './claims.tsx';
import { Changes } from './diff.tsx';
import { Evidence } from './evidence.tsx';
import { Policy } from './policy.tsx';
import { Review } from './review.tsx';
import { Facts } from './summary.tsx';
import { Timeline } from './timeline.tsx';
import { Transcript } from './transcript.tsx';
import { Usage } from './usage.tsx';

/** One agent run, from the verdict down to the evidence. */
export function AgentRunPage({ data }: { readonly data: Data }) {
  const address = useAgentAddress();
  const { part } = address;
  useEffect(() => {
    if (part === '') return;
    const section = document.querySelector<HTMLElement>(`#${CSS.escape(part)}`);
    section?.scrollIntoView();
    section?.focus({ preventScroll: true });
  }, [part]);
  const of = { data, address };
  return (
    <div class="agent-page">
      <Parts {...of} />
      {data.notes.map(note => (
        <p class="warning" key={note}>
          <Icon path="M8 4v5M8 11.5v.5" />
          <span>
            <Text value={note} />
          </span>
        </p>
      ))}
      <Card id="review" title="Before you apply the changes">
        <Review {...of} />
      </Card>
      <Card id="summary" title="Summary">
        <Facts data={data} />
      </Card>
      {data.checks.length > 0 && (
        <Card id="checks" title="Checks" note={checksText(data)}>
          <Checks {...of} />
        </Card>
      )}
      <Card id="timeline" title="Timeline" note={callsText(data)}>
        <Timeline {...of} />
      </Card>
      <Card id="transcript" title="Transcript" note={entriesText(data)}>
        <Transcript {...of} />
      </Card>
      <Card id="changes" title="Changes" note={changesText(data)}>
        <Changes {...of} />
      </Card>
      <Card id="policy" title="Policy">
        <Policy data={data} />
      </Card>
      <Card id="usage" title="Cost and tokens">
        <Usage {...of} />
      </Card>
      <Card id="claims" title="Claims and effects">
        <Claims {...of} />
      </Card>
      <Card id="evidence" title="Evidence">
        <Evidence data={data} />
      </Card>
    </div>
  );
}

interface Of {
  readonly data: Data;
  readonly address: AgentAddress;
}

function Parts({ data, address }: Of) {
  const parts = PARTS.filter(([id]) => id !== 'checks' || data.checks.length > 0);
  return (
    <nav class="parts" aria-label="Sections">
      {parts.map(([id, title]) => (
        <a key={id} href={agentHash(address, { part: id })} aria-current={address.part === id ? 'true' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}

const PARTS = [
  ['review', 'Review'],
  ['summary', 'Summary'],
  ['checks', 'Checks'],
  ['timeline', 'Timeline'],
  ['transcript', 'Transcript'],
  ['changes', 'Changes'],
  ['policy', 'Policy'],
  ['usage', 'Cost'],
  ['claims', 'Claims'],
  ['evidence', 'Evidence'],
] as const;

function callsText({ calls: { total, failed, denied } }: Data): string {
  return [
    plural(total, 'tool call'),
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    ...(denied > 0 ? [`${count(denied)} denied`] : []),
  ].join(', ');
}

function checksText({ checks }: Data): string {
  const passed = checks.filter(({ tone }) => tone === 'good').length;
  return `${count(passed)} of ${plural(checks.length, 'check')} passed`;
}

const entriesText = ({ rows, omitted }: Data): string => plural(rows.length + omitted.count, 'entry', 'entries');

function changesText({ diff: { total, added, removed, absent, files } }: Data): string {
  if (absent !== null && files.length === 0) return 'unknown';
  return total === 0 ? 'none' : `${plural(total, 'file')}, +${count(added)} −${count(removed)}`;
}
